// llama.cpp, as npm's node-llama-cpp ships it, reads a GGUF file: ids of texts, and the most likely token after each step of a text.
import { getLlama, LlamaLogLevel } from "node-llama-cpp";

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });

export const build = `${llama.llamaCppRelease.release}`;

/// {ids: of each text, texts: of these ids, greedy: ids, probabilities: of these, end: its end token or null} of the model in a file.
/// `adapter`: a GGUF file of adapters to add, if there is one. `special`: names of special tokens stand for these tokens.
/// `prompt`: a text, or ids.
export async function run(file, texts, prompt, steps, { adapter, special = false } = {}) {
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createContext({
    contextSize: Math.min(256, model.trainContextSize), threads: 1, flashAttention: false,
    experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32",  // so that only the order of sums differs from ours
    lora: adapter ? { adapters: [{ filePath: adapter, scale: 1 }] } : undefined,
  });
  const sequence = context.getSequence();
  const ids = texts.map((text) => [...model.tokenize(text, special)]);
  const decoded = ids.map((tokens) => model.detokenize(tokens));
  const end = model.tokens.eos;
  const greedy = [], probabilities = [];
  let tokens = typeof prompt === "string" ? [...model.tokenize(prompt, special)] : prompt;
  for (let i = 0; i < steps; ++i) {
    const want = { generateNext: { token: true, confidence: true, options: { temperature: 0 } } };
    const result = await sequence.controlledEvaluate(tokens.map((token, j) => j + 1 === tokens.length ? [token, want] : token));
    const { token, confidence } = result.at(-1).next;
    greedy.push(token);
    probabilities.push(confidence);
    tokens = [token];
  }
  await context.dispose();
  await model.dispose();
  return { ids, texts: decoded, greedy, probabilities, end };
}

export const dispose = () => llama.dispose();
