// llama.cpp, as npm's node-llama-cpp ships it, answers questions, each in a conversation of its own. Prints the answers as a JSON list.
//
//     node llama_cpp_answers.mjs NODE_MODULES MODEL.gguf QUESTIONS.jsonl MOST_TOKENS
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, file, questions, most] = process.argv.slice(2);
const { getLlama, JinjaTemplateChatWrapper, LlamaChatSession, LlamaLogLevel } = await import(
  pathToFileURL(join(resolve(modules), "node-llama-cpp/dist/index.js"))
);

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: resolve(file) });
const context = await model.createContext({ contextSize: Math.min(512, model.trainContextSize), threads: 2 });
const session = new LlamaChatSession({
  contextSequence: context.getSequence(),
  chatWrapper: new JinjaTemplateChatWrapper({ template: model.fileInfo.metadata.tokenizer.chat_template }),
});
const answers = [];
for (const line of readFileSync(questions, "utf8").trim().split("\n")) {
  session.resetChatHistory();
  answers.push(await session.prompt(JSON.parse(line).prompt, { temperature: 0, maxTokens: Number(most) }));
}
console.log(JSON.stringify(answers));
await llama.dispose();
