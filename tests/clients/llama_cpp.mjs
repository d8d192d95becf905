// llama.cpp, as npm's node-llama-cpp ships it, reads a GGUF file: ids of texts, and the most likely token after each step of a text.
import { getLlama, LlamaLogLevel, TokenBias } from "node-llama-cpp";

const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error });

export const build = `${llama.llamaCppRelease.release}`;

const kTie = 1e-3; // of logits, whose rounding errors are about 1e-5

/// {ids: of each text, texts: of these ids, greedy: ids, probabilities: of these, end: its end token or null} of the model in a file.
/// `adapter`: a GGUF file of adapters to add, if there is one. `special`: names of special tokens stand for these tokens.
/// `prompt`: a text, or ids. `follow`: ids of a text to continue where both of two tokens are the most likely but for rounding; a text has
/// such places by chance, and llama.cpp's sums have another order than dikkat's. `never`: ids that are not chosen.
export async function run(file, texts, prompt, steps, { adapter, special = false, follow = [], never = [] } = {}) {
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createContext({
    contextSize: Math.min(256, model.trainContextSize),
    threads: 1,
    flashAttention: false,
    experimentalKvCacheKeyType: "F32",
    experimentalKvCacheValueType: "F32", // so that only the order of sums differs from ours
    lora: adapter ? { adapters: [{ filePath: adapter, scale: 1 }] } : undefined,
  });
  const sequence = context.getSequence();
  const ids = texts.map((text) => [...model.tokenize(text, special)]);
  const decoded = ids.map((tokens) => model.detokenize(tokens));
  const end = model.tokens.eos;
  const greedy = [],
    probabilities = [],
    options = { temperature: 0, tokenBias: TokenBias.for(model).set(never, "never") };
  let tokens = typeof prompt === "string" ? [...model.tokenize(prompt, special)] : prompt;
  for (let i = 0; i < steps; ++i) {
    const logits = { filter: { tokens: follow.slice(i, i + 1), includeSelected: true } };
    const want = { generateNext: { token: true, confidence: true, logits, options } };
    const result = await sequence.controlledEvaluate(tokens.map((token, j) => (j + 1 === tokens.length ? [token, want] : token)));
    const { token, confidence, logits: of } = result.at(-1).next;
    const lead = of.get(token) - of.get(follow[i] ?? token);
    const chosen = lead < kTie ? (follow[i] ?? token) : token;
    greedy.push(chosen);
    probabilities.push(chosen === token ? confidence : confidence * Math.exp(-lead));
    tokens = [chosen];
  }
  await context.dispose();
  await model.dispose();
  return { ids, texts: decoded, greedy, probabilities, end };
}

export const dispose = () => llama.dispose();
