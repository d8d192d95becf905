// Makes files of llama.cpp's quantized types with its own quantizer, from a small model that is trained here, and compares what dikkat reads
// in them with what llama.cpp does. Then fine-tunes such a file, and runs the result in llama.cpp.
//
//     node quantized.mjs DIKKAT WORK_FOLDER REPOSITORY LIBRARIES     (scripts/clients.sh does; LIBRARIES: the folder of libllama)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gguf, GGMLQuantizationType } from "@huggingface/gguf";
import { Dikkat, kPrompt, kSteps, largest } from "./dikkat.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, repository, libraries] = process.argv.slice(2).map((path) => resolve(path));
const dikkat = new Dikkat(program);
const path = (name) => join(work, name);

/// Converts a file with llama.cpp's quantizer, which prints much.
const quantize = (from, to, type) =>
  execFileSync("/usr/bin/python3", [join(repository, "tests/clients/quantize.py"), libraries, from, to, type], { stdio: "pipe" });

/// {tensors: the bytes of each tensor of a file by its name, types: the type of each tensor}.
async function contents(file) {
  const { tensorInfos, tensorDataOffset } = await gguf(file, { allowLocalFile: true });
  const bytes = readFileSync(file);
  const begins = tensorInfos.map((tensor) => Number(tensorDataOffset + tensor.offset));
  const tensors = new Map(tensorInfos.map((tensor, i) => [tensor.name, bytes.subarray(begins[i], begins[i + 1] ?? bytes.length)]));
  return { tensors, types: tensorInfos.map((tensor) => GGMLQuantizationType[tensor.dtype]) };
}

// A model whose matrices have rows of 256 numbers, except for one with rows of 352: llama.cpp stores this one as another type.
const run = path("run"),
  f32 = path("f32.gguf");
dikkat.run(
  "train",
  "--corpus",
  join(repository, "data/tales.txt"),
  "--out",
  run,
  "--quiet",
  "--set",
  "tokenizer.kind=bpe",
  "tokenizer.vocab_size=600",
  "tokenizer.splitter=llama3",
  "model.norm=rms_norm",
  "model.positions=rope",
  "model.activation=silu",
  "model.gated=true",
  "model.bias=false",
  "model.n_layer=2",
  "model.n_embd=256",
  "model.n_hidden=352",
  "model.n_head=4",
  "model.n_kv_head=2",
  "model.block_size=128",
  "optim.kind=muon",
  "optim.learning_rate=0.01",
  "train.batch_size=8",
  "train.max_steps=60",
  "train.eval_tokens=128",
  "data.split=end",
);
dikkat.run("export", run, "--out", f32);

const kExact = 1e-3,
  kRounded = 2e-2; // of probabilities: llama.cpp rounds activations to 8 bits where weights are quantized
const seen = new Set();
for (const type of ["Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "Q6_K", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "IQ4_XS"]) {
  const file = path(`${type}.gguf`),
    back = path(`${type}-back.gguf`),
    same = path(`${type}-f32.gguf`);
  quantize(f32, file, type);
  quantize(file, same, "F32");
  dikkat.run("export", file, "--out", back);

  // What the file mixes, and the weights: llama.cpp's and our conversions to f32 have the same bits.
  const { types } = await contents(file);
  types.forEach((name) => seen.add(name));
  const shown = JSON.parse(dikkat.run("inspect", file, "--json")).types;
  const counted = Object.entries(shown).map(([name, { tensors }]) => [name.toUpperCase(), tensors]);
  assert.deepEqual(
    Object.fromEntries(counted.sort()),
    Object.fromEntries([...new Set(types)].sort().map((name) => [name, types.filter((other) => other === name).length])),
    `${type}: types`,
  );
  const ours = (await contents(back)).tensors,
    theirs = (await contents(same)).tensors;
  assert.equal(ours.size, theirs.size);
  theirs.forEach((bytes, name) => assert(bytes.equals(ours.get(name)), `${type}: the numbers of ${name}`));

  // The texts: llama.cpp's of f32 weights is ours, and its own of the quantized file nearly so.
  const text = dikkat.greedy(file);
  const exact = await llama_cpp.run(same, [], kPrompt, kSteps, { follow: text.tokens });
  assert.deepEqual(exact.greedy, text.tokens, `${type}: llama.cpp's text from the same weights in f32`);
  const error = largest(exact.probabilities, text.probabilities);
  assert(error < kExact, `${type}: probabilities differ by ${error}`);
  const quick = await llama_cpp.run(file, [], kPrompt, kSteps);
  const until = quick.greedy.findIndex((id, i) => id !== text.tokens[i]);
  const compared = until < 0 ? kSteps : until;
  const rounding = largest(quick.probabilities.slice(0, compared), text.probabilities);
  assert(compared >= 1 && rounding < kRounded, `${type}: llama.cpp's probabilities differ by ${rounding} over ${compared} tokens`);
  console.log(
    `${type}: ${[...new Set(types)].sort().join(" ")}: weights have llama.cpp's bits; its probabilities differ by ${error.toExponential(1)} in f32, ` +
      `and by ${rounding.toExponential(1)} over ${compared} tokens where it rounds activations`,
  );
}
for (const name of ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "IQ4_XS"]) {
  assert(seen.has(name), `no file had a tensor of ${name}`);
}

// A file is tuned on pairs, and the result is a file for llama.cpp with the same tokenizer.
const pairs = ["king", "queen", "forest", "daughter", "wise", "old"].map((word) =>
  JSON.stringify({ prompt: `Say ${word}`, completion: word }),
);
writeFileSync(path("pairs.jsonl"), pairs.join("\n"));
const tuned = path("tuned");
dikkat.run("finetune", path("Q4_K_M.gguf"), "--data", path("pairs.jsonl"), "--out", tuned, "--set", "train.max_steps=4", "data.split=end");
dikkat.run("export", tuned, "--out", path("tuned.gguf"));
const text = dikkat.greedy(tuned);
assert.notDeepEqual(text.probabilities, dikkat.greedy(path("Q4_K_M.gguf")).probabilities);
const theirs = await llama_cpp.run(path("tuned.gguf"), [kPrompt], kPrompt, kSteps, { follow: text.tokens });
assert.deepEqual(theirs.ids[0], dikkat.ids_of(tuned, kPrompt), "the ids of a text in the tuned model");
assert.deepEqual(theirs.greedy, text.tokens, "llama.cpp's text from the tuned model");
await llama_cpp.dispose();
console.log(`tuned: llama.cpp writes the same ${kSteps} tokens; llama.cpp ${llama_cpp.build}`);
