// Hugging Face's library encodes a text with the tokenizer of a folder. Prints the ids as a JSON list.
//
//     node hugging_face_ids.mjs NODE_MODULES FOLDER TEXT
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, folder, text] = process.argv.slice(2);
const { Tokenizer } = await import(pathToFileURL(join(resolve(modules), "@huggingface/tokenizers/dist/tokenizers.mjs")));
const read = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const tokenizer = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));
console.log(JSON.stringify(tokenizer.encode(text, { add_special_tokens: false }).ids));
