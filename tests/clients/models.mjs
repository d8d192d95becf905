// Trains a small model of every family that dikkat exports, and checks the exported files with other programs.
//
//     node models.mjs DIKKAT WORK_FOLDER REPOSITORY     (scripts/clients.sh does)
//
// Ends with 1 and a line for each difference, if there is one.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gguf } from "@huggingface/gguf";
import { Dikkat, kPrompt, kSteps, largest } from "./dikkat.mjs";
import { encoder } from "./hf_ids.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const dikkat = new Dikkat(program);

// The keys of the configuration that a family needs besides the defaults.
const llama_keys = [
  "model.norm=rms_norm",
  "model.positions=rope",
  "model.activation=silu",
  "model.gated=true",
  "model.bias=false",
  "model.n_kv_head=2",
];
const families = {
  gpt2: ["tokenizer.splitter=gpt2"],
  "gpt2-without-biases": ["tokenizer.splitter=gpt2", "model.bias=false", "model.tie_embeddings=false"],
  llama: [...llama_keys, "tokenizer.splitter=llama3"],
  "llama-scaled": [
    ...llama_keys,
    "tokenizer.splitter=smollm",
    "model.head_size=32",
    "model.rope_theta=500.0",
    "model.rope_scaling=llama3",
    "model.rope_factor=4.0",
    "model.tie_embeddings=false",
  ],
  qwen2: [...llama_keys, "tokenizer.splitter=qwen2", "model.qkv_bias=true"],
  qwen3: [...llama_keys, "tokenizer.splitter=qwen2", "model.qk_norm=true", "model.head_size=32", "model.norm_eps=1e-6"],
};
// Bounds for the differences between llama.cpp's probabilities and ours of f32: llama.cpp computes q8_0 with activations of 8 bits.
const dtypes = { f32: 1e-3, f16: 5e-4, bf16: 5e-3, q8_0: 2e-2, q4_0: 1e-1 };

let failures = 0;
function check(ok, ...words) {
  if (!ok) {
    ++failures;
    console.log("DIFFERENT:", ...words);
  }
}
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const folder_of_texts = join(repository, "tests/golden/tokenizer/texts");
const texts = [
  kPrompt,
  "don't stop 12345 It's 3rd\r\n\r\n  x",
  "\t\ttabs  and   spaces \n \n end ",
  ...readdirSync(folder_of_texts)
    .sort()
    .map((name) => readFileSync(join(folder_of_texts, name), "utf8")),
];

for (const [name, keys] of Object.entries(families)) {
  const run = join(work, name);
  dikkat.run(
    "train",
    "--corpus",
    join(repository, "data/tales.txt"),
    folder_of_texts,
    "--out",
    run,
    "--quiet",
    "--set",
    "tokenizer.kind=bpe",
    "tokenizer.vocab_size=600",
    "model.n_layer=2",
    "model.n_embd=64",
    "model.block_size=128",
    "optim.kind=muon",
    "optim.learning_rate=0.01",
    "train.batch_size=8",
    "train.max_steps=60",
    "train.eval_tokens=128",
    "data.split=end",
    ...keys,
  );
  const ours = dikkat.greedy(run);
  const our_ids = texts.map((text) => dikkat.ids_of(run, text));

  const hf = join(work, `${name}-hf`);
  dikkat.run("export", run, "--out", hf);
  const description = JSON.parse(readFileSync(join(hf, "tokenizer.json"), "utf8"));
  const encode = await encoder(here, description, false);
  texts.forEach((text, i) => check(same(encode(text), our_ids[i]), name, "@huggingface/tokenizers: ids of text", i));
  check(same(dikkat.greedy(hf), ours), name, "dikkat's own text from the folder of Hugging Face");
  writeFileSync(join(work, "text.json"), JSON.stringify({ prompt: dikkat.ids_of(run, kPrompt), ...ours }));
  const torch = execFileSync("/usr/bin/python3", [join(repository, "tests/clients/torch_text.py"), hf, join(work, "text.json")], {
    encoding: "utf8",
  });
  const report = [`${torch.trim()} (PyTorch)`];

  for (const [dtype, bound] of Object.entries(dtypes)) {
    const file = join(work, `${name}-${dtype}.gguf`);
    dikkat.run("export", run, "--out", file, "--dtype", dtype);
    const { metadata, tensorInfos } = await gguf(file, { allowLocalFile: true });
    check(metadata["general.architecture"] === name.split("-")[0], name, dtype, "@huggingface/gguf: the architecture");
    check(tensorInfos.length > 10, name, dtype, "@huggingface/gguf: tensors");
    const theirs = await llama_cpp.run(file, dtype === "f32" ? texts : [], kPrompt, kSteps, { follow: dtype === "f32" ? ours.tokens : [] });
    theirs.ids.forEach((ids, i) => check(same(ids, our_ids[i]), name, "llama.cpp: ids of text", i));
    const read_back = dikkat.greedy(file); // our own reader of the file
    const until = theirs.greedy.findIndex((id, i) => id !== read_back.tokens[i]);
    const compared = until < 0 ? kSteps : until;
    const error = largest(theirs.probabilities.slice(0, compared), read_back.probabilities);
    check(dtype !== "f32" || same(theirs.greedy, ours.tokens), name, "llama.cpp: greedy text", theirs.greedy, "ours", ours.tokens);
    check(compared >= (dtype === "f32" ? kSteps : 1) && error <= bound, name, dtype, "llama.cpp: probabilities differ by", error);
    report.push(`${dtype} ${error.toExponential(1)} over ${compared}`);
  }
  console.log(`${name}: largest difference of probabilities ${report.join(", ")} tokens`);
}
// Tokenizers of characters and of bytes are checked too: ids, PyTorch on the weights, and llama.cpp, for which no token may end a text.
for (const kind of ["char", "byte"]) {
  const run = join(work, kind),
    hf = join(work, `${kind}-hf`);
  dikkat.run(
    "train",
    "--config",
    join(repository, "bench/recipes/tales-char-adamw.toml"),
    "--corpus",
    join(repository, "data/tales.txt"),
    "--out",
    run,
    "--quiet",
    "--set",
    `tokenizer.kind=${kind}`,
    "model.block_size=96",
    "train.max_steps=30",
    "train.eval_tokens=128",
  );
  dikkat.run("export", run, "--out", hf);
  const encode = await encoder(here, JSON.parse(readFileSync(join(hf, "tokenizer.json"), "utf8")), false);
  const text = 'The king said:\n\n  "Who is there?"';
  const ours = dikkat.greedy(run);
  check(same(encode(text), dikkat.ids_of(run, text)), kind, "@huggingface/tokenizers: ids");
  writeFileSync(join(work, "text.json"), JSON.stringify({ prompt: dikkat.ids_of(run, kPrompt), ...ours }));
  execFileSync("/usr/bin/python3", [join(repository, "tests/clients/torch_text.py"), hf, join(work, "text.json")]);
  const file = join(work, `${kind}.gguf`);
  dikkat.run("export", run, "--out", file);
  const kept = kind === "byte" ? [text, ...texts] : [text, kPrompt]; // texts of characters that the model knows
  const theirs = await llama_cpp.run(file, kept, kPrompt, kSteps, { follow: ours.tokens });
  theirs.ids.forEach((ids, i) => check(same(ids, dikkat.ids_of(run, kept[i])), kind, "llama.cpp: ids of text", i));
  theirs.texts.forEach((decoded, i) => check(decoded === kept[i], kind, "llama.cpp: text of the ids of text", i));
  const error = largest(theirs.probabilities, ours.probabilities);
  check(theirs.end === null, kind, "llama.cpp: a token ends texts", theirs.end);
  check(same(theirs.greedy, ours.tokens) && error <= dtypes.f32, kind, "llama.cpp: greedy text; probabilities differ by", error);
  check(same(dikkat.greedy(file), ours), kind, "dikkat's own text from the GGUF file");
  console.log(`${kind}: ids and PyTorch's text are equal; llama.cpp's probabilities differ by ${error.toExponential(1)}`);
}
await llama_cpp.dispose();
console.log(`${failures === 0 ? "no differences" : `${failures} differences`}; llama.cpp ${llama_cpp.build}`);
process.exit(failures === 0 ? 0 : 1);
