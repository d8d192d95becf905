// Checks adapters (LoRA) of four families, one of which has q, k and v in one tensor. llama.cpp adds the exported GGUF file to the base's and writes our text. The exported PEFT
// folder, added to the base in PyTorch, gives the merged weights.
//
//     node adapters.mjs DIKKAT WORK_FOLDER REPOSITORY     (scripts/clients.sh does, after models.mjs, whose runs are the bases)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const dikkat = (...words) => execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const kSteps = 50, kPrompt = "The king said that";
const greedy = (model, ...more) => {
  const sample = JSON.parse(dikkat("sample", model, "--prompt", kPrompt, "--temperature", "0", "--max-new-tokens", `${kSteps}`, "--ignore-end", "--json",
    "--logprobs", ...more)).samples[0];
  return { tokens: sample.tokens, probabilities: sample.log_probabilities.map(Math.exp) };
};

for (const [family, ...keys] of [["gpt2"], ["llama", "lora.rank_stabilized=true"], ["qwen3", 'lora.targets=["attention"]'], ["phi3"]]) {
  const base = join(work, family), run = join(work, `${family}-lora`), file = join(work, `${family}-lora.gguf`), peft = join(work, `${family}-peft`);
  dikkat("finetune", base, "--data", join(repository, "data/tales.txt"), "--out", run, "--quiet", "--set", "train.max_steps=60", "train.batch_size=8",
    "train.gradient_accumulation_steps=1", "train.eval_tokens=128", "optim.learning_rate=0.02", ...keys);
  dikkat("export", run, "--newest", "--adapter", "--out", file);  // the best may be the start, where adapters add nothing
  dikkat("export", run, "--newest", "--adapter", "--out", peft);
  dikkat("export", run, "--newest", "--out", `${run}-hf`);
  const ours = greedy(run, "--newest");
  assert.notDeepEqual(ours.tokens, greedy(base).tokens, `${family}: the adapters change the text`);
  assert.deepEqual(greedy(peft).tokens, ours.tokens, `${family}: the exported folder of PEFT is the same model again`);
  const theirs = await llama_cpp.run(`${base}-f32.gguf`, [], kPrompt, kSteps, file);
  assert.deepEqual(theirs.greedy, ours.tokens, `${family}: llama.cpp's text with base and adapter`);
  const error = Math.max(...ours.probabilities.map((p, i) => Math.abs(p - theirs.probabilities[i])));
  assert(error < 1e-3, `${family}: probabilities differ by ${error}`);
  const sum = execFileSync("/usr/bin/python3", [join(repository, "tests/clients/peft_sum.py"), `${base}-hf`, peft, `${run}-hf`], { encoding: "utf8" }).trim();
  console.log(`${family}: llama.cpp with base and adapter writes our text, probabilities differ by ${error.toExponential(1)}; ${sum}`);
}
await llama_cpp.dispose();
