// Times llama.cpp, as npm's node-llama-cpp ships it, on a GGUF file: bench/compare_llama.py starts this and reads what it prints.
//
//     node llama_speed.mjs NODE_MODULES FILE.gguf '{"threads": 2, "prompt": 512, "start": 16, "tokens": 64, "flash_attention": false}'
//
// Prints one JSON object. It has the milliseconds of reading a prompt of `prompt` tokens in one batch, and of each of `tokens` tokens
// (greedy, one sequence) after a prompt of `start`: of only reading it, and with choosing the next. A time is taken around llama_decode()
// and llama_synchronize() in the addon, on a thread beside JavaScript's, without the package's queue. llama.cpp's own counters of the same
// work ("perf") show how much of it is JavaScript's.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, file, options] = process.argv.slice(2);
const { threads, prompt, start, tokens, flash_attention } = JSON.parse(options);
const { getLlama, LlamaLogLevel } = await import(pathToFileURL(join(modules, "node-llama-cpp/dist/index.js")));

const log = [];
const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: LlamaLogLevel.info,
  logger: (level, text) => log.push(text) });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: Math.max(prompt, start + tokens), batchSize: prompt, threads,
  flashAttention: flash_attention, performanceTracking: true });
const addon = context._ctx;
const sampler = new llama._bindings.AddonSampler(model._model);
sampler.applyConfig({ temperature: 0 });
const vocabulary = model.fileInfo.metadata.tokenizer.ggml.tokens.length;
const ids = (count) => Uint32Array.from({ length: count }, (_, i) => (i * 7919 + 13) % vocabulary);
const loading = log.splice(0);

/// Reads tokens at a position, and computes the logits of the last one: milliseconds, and where the logits are.
async function decode(position, tokens) {
  const from = performance.now();
  addon.initBatch(tokens.length);
  const [logits] = addon.addToBatch(0, position, tokens, Uint32Array.of(tokens.length - 1));
  await addon.decodeBatch();
  return { ms: performance.now() - from, logits };
}

/// Milliseconds that llama.cpp counted since the last call: for reading prompts, and for reading tokens one by one.
async function counted() {
  log.length = 0;
  addon.printTimings();
  await new Promise((done) => setTimeout(done, 20));  // the lines come on JavaScript's queue
  const ms = (name) => Number(new RegExp(`: +${name} time = +([0-9.]+) ms`).exec(log.join("\n"))?.[1]);
  return { prompt: ms("prompt eval"), tokens: ms("eval") };
}

async function read_prompt() {
  addon.removeTokenCellsFromSequence(0, 0, -1);
  return (await decode(0, ids(prompt))).ms;
}

async function generate() {
  addon.removeTokenCellsFromSequence(0, 0, -1);
  let { logits } = await decode(0, ids(start));
  const decode_ms = [], token_ms = [];
  for (let i = 0; i < tokens; ++i) {
    const from = performance.now();
    const next = await decode(start + i, Uint32Array.of(await addon.sampleToken(logits, sampler)));
    logits = next.logits;
    decode_ms.push(next.ms);
    token_ms.push(performance.now() - from);
  }
  return { decode_ms, token_ms };
}

await generate();  // warms up: pages of the file, buffers
await read_prompt();
await counted();
const prompt_ms = await read_prompt();
const perf = { prompt_ms: (await counted()).prompt };
const times = await generate();
perf.tokens_ms = (await counted()).tokens;
const buffers = loading.filter((line) => /buffer size|KV|flash_attn|n_ubatch/.test(line)).map((line) => line.trim());
console.log(JSON.stringify({ prompt_ms, ...times, perf, threads: addon.getThreads(), build: `${llama.llamaCppRelease.release}`,
  system: llama.systemInfo.trim(), buffers }));
await context.dispose();
await model.dispose();
await llama.dispose();
