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
import { encoder } from "./hf_ids.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const here = dirname(fileURLToPath(import.meta.url));
const kSteps = 50;
const kPrompt = "The king said that";

// The keys of the configuration that a family needs besides the defaults.
const llama_keys = ["model.norm=rms_norm", "model.positions=rope", "model.activation=silu", "model.gated=true", "model.bias=false",
  "model.n_kv_head=2"];
const families = {
  gpt2: ["tokenizer.splitter=gpt2"],
  "gpt2-without-biases": ["tokenizer.splitter=gpt2", "model.bias=false", "model.tie_embeddings=false"],
  llama: [...llama_keys, "tokenizer.splitter=llama3"],
  "llama-scaled": [...llama_keys, "tokenizer.splitter=smollm", "model.head_size=32", "model.rope_theta=500.0", "model.rope_scaling=llama3",
    "model.rope_factor=4.0", "model.tie_embeddings=false"],
  qwen2: [...llama_keys, "tokenizer.splitter=qwen2", "model.qkv_bias=true"],
  qwen3: [...llama_keys, "tokenizer.splitter=qwen2", "model.qk_norm=true", "model.head_size=32", "model.norm_eps=1e-6"],
  smollm3: [...llama_keys, "tokenizer.splitter=llama3", "model.n_layer=5", "model.rope_pattern=4"],
  granite: [...llama_keys, "tokenizer.splitter=llama3", "model.embedding_scale=12.0", "model.attention_scale=0.1", "model.residual_scale=0.3",
    "model.logit_scale=0.25"],
  olmo2: [...llama_keys, "tokenizer.splitter=llama3", "model.norm_position=branch", "model.qk_norm=true", "model.qk_norm_over=row",
    "model.tie_embeddings=false"],
  gemma3: [...llama_keys, "tokenizer.splitter=llama3", "model.n_layer=7", "model.n_kv_head=1", "model.norm_position=sandwich", "model.qk_norm=true",
    "model.activation=gelu", "model.scale_embeddings=true", "model.window=24", "model.window_pattern=6", "model.rope_theta=1e6",
    "model.rope_theta_local=1e4"],
  // 6 of 8 pairs of a head rotate. llama.cpp rounds its context up to 256, and takes the other list of factors beyond the original context.
  phi3: [...llama_keys, "tokenizer.splitter=llama3", "model.rope_share=0.75", "model.rope_scaling=longrope", "model.rope_factor=4",
    "model.rope_original_context=256", "model.rope_factors=1,1.25,1.5,2,3,5", "model.rope_long_factors=1,2,4,8,16,32"],
};
const in_pytorch = ["gpt2", "llama", "qwen2", "qwen3"];  // the families of examples/load_in_pytorch.py
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
const largest = (a, b) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));
const dikkat = (...words) => execFileSync(program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
const ids_of = (model, text) => JSON.parse(dikkat("tokenizer", "encode", model, "--text", text, "--json"));

/// Returns our greedy text: {tokens, probabilities}.
function greedy(model) {
  const sample = JSON.parse(dikkat("sample", model, "--prompt", kPrompt, "--temperature", "0", "--max-new-tokens", `${kSteps}`,
    "--ignore-end", "--json", "--logprobs")).samples[0];
  return { tokens: sample.tokens, probabilities: sample.log_probabilities.map(Math.exp) };
}

const folder_of_texts = join(repository, "tests/golden/tokenizer/texts");
const texts = [kPrompt, "don't stop 12345 It's 3rd\r\n\r\n  x", "\t\ttabs  and   spaces \n \n end ",
  ...readdirSync(folder_of_texts).sort().map((name) => readFileSync(join(folder_of_texts, name), "utf8"))];

for (const [name, keys] of Object.entries(families)) {
  const run = join(work, name);
  dikkat("train", "--corpus", join(repository, "data/tales.txt"), folder_of_texts, "--out", run, "--quiet", "--set",
    "tokenizer.kind=bpe", "tokenizer.vocab_size=600", "model.n_layer=2", "model.n_embd=64", "model.block_size=128", "optim.kind=muon",
    "optim.learning_rate=0.01", "train.batch_size=8", "train.max_steps=60", "train.eval_tokens=128", ...keys);
  const ours = greedy(run);
  const our_ids = texts.map((text) => ids_of(run, text));

  const hf = join(work, `${name}-hf`);
  dikkat("export", run, "--out", hf);
  const description = JSON.parse(readFileSync(join(hf, "tokenizer.json"), "utf8"));
  const encode = await encoder(here, description, false);
  texts.forEach((text, i) => check(same(encode(text), our_ids[i]), name, "@huggingface/tokenizers: ids of text", i));
  check(same(greedy(hf), ours), name, "dikkat's own text from the folder of Hugging Face");
  const architecture = name.split("-")[0], report = [];
  if (in_pytorch.includes(architecture)) {
    writeFileSync(join(work, "text.json"), JSON.stringify({ prompt: ids_of(run, kPrompt), ...ours }));
    const torch = execFileSync("/usr/bin/python3", [join(repository, "tests/clients/torch_text.py"), hf, join(work, "text.json")],
      { encoding: "utf8" });
    report.push(`${torch.trim()} (PyTorch)`);
  }

  for (const [dtype, bound] of Object.entries(dtypes)) {
    const file = join(work, `${name}-${dtype}.gguf`);
    dikkat("export", run, "--out", file, "--dtype", dtype);
    const { metadata, tensorInfos } = await gguf(file, { allowLocalFile: true });
    check(metadata["general.architecture"] === architecture, name, dtype, "@huggingface/gguf: the architecture");
    check(tensorInfos.length > 10, name, dtype, "@huggingface/gguf: tensors");
    const theirs = await llama_cpp.run(file, dtype === "f32" ? texts : [], kPrompt, kSteps);
    theirs.ids.forEach((ids, i) => check(same(ids, our_ids[i]), name, "llama.cpp: ids of text", i));
    const read_back = greedy(file);  // our own reader of the file
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
  const run = join(work, kind), hf = join(work, `${kind}-hf`);
  dikkat("train", "--config", join(repository, "bench/recipes/tales-char-adamw.toml"), "--corpus", join(repository, "data/tales.txt"),
    "--out", run, "--quiet", "--set", `tokenizer.kind=${kind}`, "model.block_size=96", "train.max_steps=30", "train.eval_tokens=128");
  dikkat("export", run, "--out", hf);
  const encode = await encoder(here, JSON.parse(readFileSync(join(hf, "tokenizer.json"), "utf8")), false);
  const text = "The king said:\n\n  \"Who is there?\"";
  const ours = greedy(run);
  check(same(encode(text), ids_of(run, text)), kind, "@huggingface/tokenizers: ids");
  writeFileSync(join(work, "text.json"), JSON.stringify({ prompt: ids_of(run, kPrompt), ...ours }));
  execFileSync("/usr/bin/python3", [join(repository, "tests/clients/torch_text.py"), hf, join(work, "text.json")]);
  const file = join(work, `${kind}.gguf`);
  dikkat("export", run, "--out", file);
  const kept = kind === "byte" ? [text, ...texts] : [text, kPrompt];  // texts of characters that the model knows
  const theirs = await llama_cpp.run(file, kept, kPrompt, kSteps);
  theirs.ids.forEach((ids, i) => check(same(ids, ids_of(run, kept[i])), kind, "llama.cpp: ids of text", i));
  theirs.texts.forEach((decoded, i) => check(decoded === kept[i], kind, "llama.cpp: text of the ids of text", i));
  const error = largest(theirs.probabilities, ours.probabilities);
  check(theirs.end === null, kind, "llama.cpp: a token ends texts", theirs.end);
  check(same(theirs.greedy, ours.tokens) && error <= dtypes.f32, kind, "llama.cpp: greedy text; probabilities differ by", error);
  check(same(greedy(file), ours), kind, "dikkat's own text from the GGUF file");
  console.log(`${kind}: ids and PyTorch's text are equal; llama.cpp's probabilities differ by ${error.toExponential(1)}`);
}
await llama_cpp.dispose();
console.log(`${failures === 0 ? "no differences" : `${failures} differences`}; llama.cpp ${llama_cpp.build}`);
process.exit(failures === 0 ? 0 : 1);
