// llama.cpp, as npm's node-llama-cpp ships it, answers questions, each in a conversation of its own in the file's chat template. Prints the
// answers as a JSON list.
//
//     node llama_cpp_answers.mjs NODE_MODULES MODEL.gguf QUESTIONS.jsonl MOST_TOKENS
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, file, questions, most] = process.argv.slice(2);
const library = (path) => import(pathToFileURL(join(resolve(modules), path)));
const { Template } = await library("@huggingface/jinja/dist/index.js");
const { getLlama, LlamaLogLevel } = await library("node-llama-cpp/dist/index.js");

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: resolve(file) });
const context = await model.createContext({ contextSize: Math.min(512, model.trainContextSize), threads: 1 });
const sequence = context.getSequence();
const template = new Template(model.fileInfo.metadata.tokenizer.chat_template);
const answers = [];
for (const line of readFileSync(questions, "utf8").trim().split("\n")) {
  const messages = [{ role: "user", content: JSON.parse(line).prompt }];
  const prompt = model.tokenize(template.render({ messages, add_generation_prompt: true, bos_token: model.tokens.bosString }), true);
  const answer = [];
  await sequence.clearHistory();
  for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
    if (model.isEogToken(token) || answer.push(token) === Number(most)) {
      break;
    }
  }
  answers.push(model.detokenize(answer));
}
console.log(JSON.stringify(answers));
await llama.dispose();
