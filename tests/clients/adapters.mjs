// Checks adapters (LoRA) of several families. llama.cpp adds the exported GGUF file to the base's and writes our text. The exported PEFT
// folder, added to the base in PyTorch, gives the merged weights. Some families also train embedding and head, which no GGUF file of
// adapters has: there llama.cpp runs the merged model.
//
//     node adapters.mjs DIKKAT WORK_FOLDER REPOSITORY [FAMILY...]     (scripts/clients.sh does, without families: all of them)
//
// The bases are the models of models.mjs and families.mjs, which run before.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { Dikkat, kPrompt, kSteps, largest } from "./dikkat.mjs";
import { read_weights } from "./hugging_face.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, repository] = process.argv.slice(2, 5).map((path) => resolve(path));
const dikkat = new Dikkat(program);
const chosen = process.argv.slice(5);
const kSaved = "lora.modules_to_save=embedding,head";
const bases = [
  ["gpt2"],
  ["llama", "lora.rank_stabilized=true"],
  ["qwen3", 'lora.targets=["attention"]'],
  ["gemma3"],
  ["granite"],
  ["granite-hybrid"],
  ["olmo2", "lora.rank_stabilized=true"],
  ["smollm3", 'lora.targets=["attention"]'],
  ["tinyllama"],
  ["phi4-mini"],
  ["gpt2", kSaved],
  ["llama", kSaved],
  ["gemma3", kSaved],
];

for (const [family, ...keys] of bases.filter(([family]) => chosen.length === 0 || chosen.includes(family))) {
  const saves = keys.includes(kSaved),
    name = saves ? `${family}-saved` : family;
  const base = join(work, family),
    run = join(work, `${name}-lora`),
    file = join(work, `${name}-lora.gguf`),
    peft = join(work, `${name}-peft`);
  const is_random = existsSync(join(base, "config.json")),
    steps = is_random ? 15 : 60; // the text of a trained model changes more slowly
  dikkat.run(
    "finetune",
    base,
    "--data",
    join(repository, "data/tales.txt"),
    "--out",
    run,
    "--quiet",
    "--set",
    `train.max_steps=${steps}`,
    "train.batch_size=8",
    "train.gradient_accumulation_steps=1",
    "train.eval_tokens=128",
    "optim.learning_rate=0.02",
    ...keys,
  );
  if (saves) {
    assert.throws(() => dikkat.run("export", run, "--newest", "--adapter", "--out", file), /lora.modules_to_save/);
  }
  // The best may be the start, where adapters add nothing.
  dikkat.run("export", run, "--newest", ...(saves ? [] : ["--adapter"]), "--out", file);
  dikkat.run("export", run, "--newest", "--adapter", "--out", peft);
  dikkat.run("export", run, "--newest", "--out", `${run}-hf`);
  const ours = dikkat.greedy(run, { options: ["--newest"] });
  assert.notDeepEqual(ours.tokens, dikkat.greedy(base).tokens, `${name}: the adapters change the text`);
  assert.deepEqual(dikkat.greedy(peft).tokens, ours.tokens, `${name}: the exported folder of PEFT is the same model again`);
  const theirs = await llama_cpp.run(saves ? file : `${base}-f32.gguf`, [], kPrompt, kSteps, {
    adapter: saves ? undefined : file,
    follow: ours.tokens,
  });
  assert.deepEqual(theirs.greedy, ours.tokens, `${name}: llama.cpp's text with base and adapter`);
  const error = largest(theirs.probabilities, ours.probabilities);
  assert(error < 1e-3, `${name}: probabilities differ by ${error}`);
  const published = is_random ? base : `${base}-hf`,
    weights = read_weights(published);
  const factors = Object.keys(read_weights(peft, "adapter_model.safetensors")).filter((tensor) => tensor.includes(".lora_"));
  for (const factor of factors) {
    // PEFT ignores adapters of unknown modules
    const weight = factor.replace("base_model.model.", "").replace(/lora_[AB]\./, "");
    assert(weights[weight], `${family}: ${factor} belongs to a module of the base`);
  }
  if (family === "granite-hybrid") {
    // merged, it is a Granite, whose modules have other names
    console.log(`${family}: llama.cpp with base and adapter writes our text; the adapters have the names of the base's class`);
    continue;
  }
  const files = [join(repository, "tests/clients/peft_sum.py"), published, peft, `${run}-hf`];
  const sum = execFileSync("/usr/bin/python3", files, { encoding: "utf8" }).trim();
  console.log(
    `${name}: llama.cpp with ${saves ? "the merged model" : "base and adapter"} writes our text, ` +
      `probabilities differ by ${error.toExponential(1)}; ${sum}`,
  );
}
await llama_cpp.dispose();
