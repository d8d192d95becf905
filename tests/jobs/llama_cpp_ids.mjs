// llama.cpp, as npm's node-llama-cpp ships it, encodes texts with the tokenizer of a GGUF file. Prints their ids as a JSON list of lists.
//
//     node llama_cpp_ids.mjs NODE_MODULES MODEL.gguf TEXTS.json
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, file, texts] = process.argv.slice(2);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(join(resolve(modules), "node-llama-cpp/dist/index.js")));

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: resolve(file), vocabOnly: true });
console.log(JSON.stringify(JSON.parse(readFileSync(texts, "utf8")).map((text) => [...model.tokenize(text)])));
await llama.dispose();
