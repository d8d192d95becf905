// Compares conversations as text and as tokens: those of dikkat with those that Hugging Face's Jinja and tokenizers make with the templates
// of published models.
//
//     node chat.mjs DIKKAT WORK_FOLDER NODE_MODULES     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Template } from "@huggingface/jinja";
import { Tokenizer } from "@huggingface/tokenizers";

const [program, work, modules] = process.argv.slice(2).map((path) => resolve(path));
const talks = [
  [["user", "Who are you?"], ["assistant", "A model.\nA small one."]],
  [["system", "Be kind."], ["user", "2+2?"], ["assistant", "4"], ["user", "Sure? \u{1F600}"], ["assistant", "Yes: 4."]],
  [["user", "def f(x):\n    return x"], ["assistant", "  indented, and <|im_end|> as text"]],
].map((talk) => talk.map(([role, content]) => ({ role, content })));
const file = join(work, "talks.jsonl");
writeFileSync(file, talks.map((messages) => JSON.stringify({ messages }) + "\n").join(""));

let compared = 0;
for (const [name, template] of [["tokenizer-qwen2_5", "chatml"], ["tokenizer-llama3", "llama3"]]) {
  const folder = join(modules, "@lenml", name, "models");
  assert(existsSync(join(folder, "tokenizer.json")), `${folder} has a tokenizer.json`);
  const config = JSON.parse(readFileSync(join(folder, "tokenizer_config.json"), "utf8"));
  const seen = JSON.parse(execFileSync(program, ["corpus", "inspect", file, "--chat", "--tokenizer", folder, "--json"], { encoding: "utf8" }));
  assert.equal(seen.template, template, `the template of ${name} is known`);
  const own = new Tokenizer(JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8")), config);
  talks.forEach((messages, i) => {
    let text = new Template(config.chat_template).render({ messages, bos_token: config.bos_token ?? "", add_generation_prompt: false });
    if (name === "tokenizer-llama3") {  // this one always ends with the beginning of an answer
      const asks = "<|start_header_id|>assistant<|end_header_id|>\n\n";
      assert(text.endsWith(asks));
      text = text.slice(0, -asks.length);
    }
    assert.equal(seen.examples[i].text, text, `conversation ${i} in the template of ${name}`);
    if (!messages.some(({ content }) => content.includes("<|"))) {  // there, a user's text can become a special token; here it never does
      assert.deepEqual(seen.examples[i].tokens, Array.from(own.encode(text, { add_special_tokens: false }).ids), `tokens of conversation ${i} of ${name}`);
    }
    compared += 1;
  });
}
console.log(`chat: ${compared} conversations as Hugging Face's templates and tokenizers have them`);
