// Vocabularies of given strings in other programs: ids and texts of Hugging Face's library (Rust, npm's tokenizers), its library for
// JavaScript, and llama.cpp. Trained models have their most likely texts in llama.cpp.
//
//     node symbols.mjs DIKKAT WORK_FOLDER     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Tokenizer as ScriptTokenizer } from "@huggingface/tokenizers";
import { Tokenizer } from "tokenizers";
import { Dikkat, largest } from "./dikkat.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work] = process.argv.slice(2).map((path) => resolve(path));
const dikkat = new Dikkat(program);

const moves = ["e4", "e5", "Nf3", "Nc6", "O-O", "exd5", "e8=Q+", "<b>", "ｅ４", "(0)"];
// The first characters are symbols too: llama.cpp never finishes reading a text that has only the beginning of a token. node-llama-cpp reads
// "some test text here" when it loads a model.
const atoms = [
  "C",
  "Cl",
  "O",
  "(",
  ")",
  "=",
  "[nH]",
  "[n",
  "c1",
  "\\",
  "^",
  "a.b",
  "-",
  "  ",
  "é",
  "\t",
  ..."[ca some text hr".match(/(.)(?!.*\1)/g),
];
const cases = [
  { name: "moves", symbols: moves, split: "spaces", texts: ["", "e4", "e4 e5\nNf3 O-O\n\n\ne8=Q+ <b>\n", "\n", "ｅ４ (0) exd5"] },
  { name: "atoms", symbols: atoms, split: "longest", texts: ["CClC", "Cl(=O)c1[nH]C[n", "\\^a.b-a.b\n\n  éC\t", "CCl"] },
  { name: "many", symbols: Array.from({ length: 20000 }, (_, i) => `${i}`), split: "longest", texts: ["1234567890123", "00100", "19999"] },
];
writeFileSync(join(work, "words.txt"), "the lamp turns\nand the ships\u3000go by\u0085at night\n".repeat(200));

/// Compares ids and texts with both libraries of Hugging Face.
async function compare(name, model, description, texts) {
  const rust = Tokenizer.fromString(JSON.stringify(description));
  const unknown = description.model.unk_token;
  const script = new ScriptTokenizer(description, unknown ? { unk_token: unknown } : {});
  for (const text of texts) {
    const ids = dikkat.ids_of(model, text),
      decoded = dikkat.run("tokenizer", "decode", model, ...(ids.length > 0 ? ids.map(String) : [","]));
    assert.deepEqual((await rust.encode(text, null, { addSpecialTokens: false })).getIds(), ids, `${name}: ${JSON.stringify(text)}`);
    assert.equal(await rust.decode(ids, false), decoded, `${name}: the text of ${ids}`);
    if (ids.length > 0) {
      const of_script = script.encode(text, { add_special_tokens: false }).ids;
      assert.deepEqual(of_script, ids, `${name} in JavaScript: ${JSON.stringify(text)}`);
      assert.equal(script.decode(ids, { clean_up_tokenization_spaces: false }), decoded, `${name} in JavaScript: the text of ${ids}`);
    }
    assert(description.model.unk_token !== "" || decoded === text, `${name}: ${decoded} comes back`);
  }
}

let compared = 0;
for (const { name, symbols, split, texts } of cases) {
  const list = join(work, `${name}.txt`),
    out = join(work, name);
  writeFileSync(list, symbols.join("\n"));
  dikkat.run("tokenizer", "make", "--symbols", list, "--split", split, "--out", out);
  const description = JSON.parse(readFileSync(join(out, "tokenizer.json"), "utf8"));
  await compare(name, out, description, texts);
  await assert.rejects(Tokenizer.fromString(JSON.stringify(description)).encode("e4 zz"), `${name}: an unknown symbol`);
  compared += texts.length;
}

// Models: words, and symbols with nothing between them, in llama.cpp too.
const train = (run, corpus, ...keys) => {
  const sizes = ["model.n_layer=2", "model.n_embd=64", "model.block_size=64", "train.max_steps=30", "train.batch_size=8"];
  dikkat.run("train", "--corpus", join(work, corpus), "--out", join(work, run), "--quiet", "--set", ...sizes, ...keys);
  dikkat.run("export", join(work, run), "--out", join(work, `${run}-hf`));
};
train("words", "words.txt", "tokenizer.kind=word");
const of_words = ["the lamp turns", "the\t ships \n\n by\u2028night zebra\r\n", "", " \u3000 "];
await compare("words", join(work, "words"), JSON.parse(readFileSync(join(work, "words-hf/tokenizer.json"), "utf8")), of_words);
compared += of_words.length;

const texts = cases[1].texts;
writeFileSync(join(work, "smiles.txt"), texts.concat("Cl(=O)c1CC\n").join("").repeat(100));
train("smiles", "smiles.txt", `tokenizer.path=${join(work, "atoms")}`);
const file = join(work, "smiles.gguf"),
  options = { prompt: "CCl(", steps: 30 };
dikkat.run("export", join(work, "smiles"), "--out", file);
const ours = dikkat.greedy(join(work, "smiles"), options);
const theirs = await llama_cpp.run(file, texts, options.prompt, options.steps, { follow: ours.tokens });
texts.forEach((text, i) => {
  assert.deepEqual(theirs.ids[i], dikkat.ids_of(join(work, "smiles"), text), `llama.cpp: ids of ${JSON.stringify(text)}`);
  assert.equal(theirs.texts[i], text, "llama.cpp: the text of the ids");
});
const error = largest(theirs.probabilities, ours.probabilities);
assert.deepEqual(theirs.greedy, ours.tokens, "llama.cpp: greedy text");
assert(error < 1e-3, `llama.cpp: probabilities differ by ${error}`);
assert.equal(theirs.end, atoms.length + 1, "llama.cpp: the token between documents ends a text");
assert.deepEqual(dikkat.greedy(file, options), ours, "dikkat's own text from the GGUF file");
await llama_cpp.dispose();
console.log(
  `symbols: ${compared} texts have the ids of Hugging Face's libraries; llama.cpp's probabilities differ by ${error.toExponential(1)}`,
);
process.exit(0);
