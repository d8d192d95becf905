// Compares conversations as text and as tokens: those of dikkat with those that Hugging Face's Jinja and tokenizers make with the templates
// of published models.
//
//     node chat.mjs DIKKAT WORK_FOLDER NODE_MODULES     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Template } from "@huggingface/jinja";
import { Tokenizer } from "@huggingface/tokenizers";

const [program, work, modules] = process.argv.slice(2).map((path) => resolve(path));
const talks = [
  [
    ["user", "Who are you?"],
    ["assistant", "A model.\nA small one."],
  ],
  [
    ["system", "Be kind."],
    ["user", "2+2?"],
    ["assistant", "4"],
    ["user", "Sure? \u{1F600}"],
    ["assistant", "Yes: 4."],
  ],
  [
    ["user", "def f(x):\n    return x"],
    ["assistant", "  indented, and <|im_end|> as text"],
  ],
].map((talk) => talk.map(([role, content]) => ({ role, content })));
const file = join(work, "talks.jsonl");
writeFileSync(file, talks.map((messages) => JSON.stringify({ messages }) + "\n").join(""));

let compared = 0;
for (const name of ["tokenizer-qwen2_5", "tokenizer-llama3"]) {
  const folder = join(modules, "@lenml", name, "models");
  assert(existsSync(join(folder, "tokenizer.json")), `${folder} has a tokenizer.json`);
  const config = JSON.parse(readFileSync(join(folder, "tokenizer_config.json"), "utf8"));
  const seen = JSON.parse(
    execFileSync(program, ["corpus", "inspect", file, "--chat", "--tokenizer", folder, "--json"], { encoding: "utf8" }),
  );
  assert.equal(seen.template, "own", `the template of ${name} is its own`);
  const own = new Tokenizer(JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8")), config);
  talks.forEach((messages, i) => {
    const text = new Template(config.chat_template).render({ messages, bos_token: config.bos_token ?? "", add_generation_prompt: false });
    assert.equal(seen.examples[i].text, text, `conversation ${i} in the template of ${name}`);
    if (!messages.some(({ content }) => content.includes("<|"))) {
      // there, a user's text can become a special token; here it never does
      assert.deepEqual(
        seen.examples[i].tokens,
        Array.from(own.encode(text, { add_special_tokens: false }).ids),
        `tokens of conversation ${i} of ${name}`,
      );
    }
    compared += 1;
  });
}

// Real templates, rendered by both. In Python's jinja2 the rows with an error are refused; this Jinja is more lenient in one of them.
const shared = resolve("../shared/data/templates");
let rendered = 0;
const text = join(work, "text.txt"),
  small = join(work, "small.json"); // a tokenizer that opens at once
writeFileSync(text, "a few words, and a few words more, and more. ".repeat(50));
execFileSync(program, ["tokenizer", "train", "--corpus", text, "--vocab-size", "260", "--out", small], { stdio: "ignore" });
if (existsSync(shared)) {
  for (const { template, case: name, variables, error } of JSON.parse(readFileSync(join(shared, "golden.json"), "utf8"))) {
    const messages = join(work, "variables.json"),
      path = join(shared, template);
    writeFileSync(messages, JSON.stringify(variables));
    const args = ["tokenizer", "render", small, "--messages", messages, "--template", path, "--json"];
    const done = spawnSync(program, args, { encoding: "utf8" });
    if (error) {
      assert.equal(done.status, 2, `${template}, ${name}: is refused`);
    } else {
      assert.equal(done.status, 0, `${template}, ${name}: ${done.stderr}`);
      assert.equal(JSON.parse(done.stdout).text, new Template(readFileSync(path, "utf8")).render(variables), `${template}, ${name}`);
    }
    rendered += 1;
  }
}
console.log(`templates: ${rendered} texts as Hugging Face's Jinja has them`);
console.log(`chat: ${compared} conversations as Hugging Face's templates and tokenizers have them`);
