// Runs a real model: a Llama of 260,000 parameters that was trained on children's stories, with its SentencePiece-style tokenizer. Its
// greedy text is published. It must come out of the folder, of an imported run, of a merge with untrained adapters, of both exports, and of
// llama.cpp.
//
//     node real_model.mjs DIKKAT WORK_FOLDER MODEL_FOLDER     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Dikkat } from "./dikkat.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, folder] = process.argv.slice(2).map((path) => resolve(path));
if (!existsSync(folder)) {
  console.log(`real model: not run, ${folder} is missing`);
  process.exit(0);
}
const dikkat = new Dikkat(program);
const golden = JSON.parse(readFileSync(join(folder, "golden.json"), "utf8"));
const ids = golden.greedy_ids.slice(1); // without <s>, which begins every text
const kSteps = ids.length;

const report = [];
/// Compares the greedy text of a model, its ids and their log-probabilities with the published ones.
function compare(name, model, ...options) {
  const sample = JSON.parse(
    dikkat.run("sample", model, "--prompt", "", "--temperature", "0", "--max-new-tokens", `${kSteps}`, "--json", "--logprobs", ...options),
  ).samples[0];
  assert.deepEqual(sample.tokens, ids, `${name}: ids`);
  assert.equal(sample.text.trim(), golden.text.trim(), `${name}: text`);
  const error = Math.max(...sample.log_probabilities.map((p, i) => Math.abs(p - golden.log_probabilities[i])));
  assert(error < 1e-5, `${name}: log-probabilities differ by ${error}`);
  report.push(`${name} ${error.toExponential(1)}`);
}

const path = (name) => join(work, `stories-${name}`);
compare("folder", folder);
dikkat.run("import", folder, "--out", path("run"));
compare("import", path("run"));
writeFileSync(path("data.txt"), `${golden.text}\n`.repeat(20));
dikkat.run(
  "finetune",
  path("run"),
  "--data",
  path("data.txt"),
  "--out",
  path("lora"),
  "--quiet",
  "--set",
  "train.max_steps=1",
  "optim.learning_rate=1e-30",
  "train.eval_tokens=128",
  "data.window=64",
); // adapters that add nothing
dikkat.run("merge", path("lora"), "--newest", "--out", path("merged"));
compare("merge", path("merged"));
dikkat.run("export", path("merged"), "--out", path("hf"));
compare("exported folder", path("hf"));
dikkat.run("export", path("merged"), "--out", path("f32.gguf"));
compare("GGUF", path("f32.gguf"));

const [begin] = golden.greedy_ids;
const theirs = await llama_cpp.run(path("f32.gguf"), [golden.text], [begin], kSteps);
assert.deepEqual(theirs.greedy, ids, "llama.cpp: greedy ids");
const our_ids = dikkat.ids_of(folder, golden.text);
assert.deepEqual(theirs.ids[0], our_ids, "llama.cpp: ids of the text");
await llama_cpp.dispose();
console.log(
  `real model: ${kSteps} greedy ids are those that its author published; ` +
    `largest differences of log-probabilities: ${report.join(", ")}; llama.cpp ${llama_cpp.build} agrees`,
);
