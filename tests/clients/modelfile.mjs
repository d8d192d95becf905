// Compares the templates of Modelfiles, rendered by Go, with the chat templates from which `dikkat export --modelfile` made them.
//
//     node modelfile.mjs DIKKAT WORK_FOLDER SOURCE_DIR     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const [program, work, source] = process.argv.slice(2).map((path) => resolve(path));
const folder = join(work, "ollama");
const run = (...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
run(
  "train",
  "--config",
  join(source, "configs/llama-tiny.toml"),
  "--corpus",
  join(source, "data/tales.txt"),
  "--out",
  join(folder, "run"),
  "--quiet",
  "--set",
  "train.max_steps=1",
  "optim.warmup_steps=1",
  "train.eval_tokens=512",
);
run("export", join(folder, "run"), "--out", join(folder, "hf"));
execFileSync("go", ["build", "-o", join(folder, "render"), join(source, "tests/clients/render.go")], { stdio: "inherit" });

const talks = [
  [["user", "Hi"]],
  [
    ["user", "Hi"],
    ["assistant", "Yes?\nTwo lines."],
    ["user", '2+2 "so" \\n {{ x }}'],
  ],
  [
    ["system", "Be kind."],
    ["user", "Hi"],
    ["assistant", "a"],
    ["user", "b"],
  ],
].map((talk) => talk.map(([role, content]) => ({ role, content })));

let compared = 0;
const shared = resolve(source, "../shared/data/templates");
const templates = existsSync(shared) ? ["qwen2_5", "qwen3", "gemma3", "gemma", "phi3", "llama3", "lfm2"] : [];
for (const name of templates) {
  const jinja = join(shared, `${name}.jinja`),
    config = join(folder, "hf/tokenizer_config.json");
  writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, "utf8")), chat_template: readFileSync(jinja, "utf8") }));
  const gguf = join(folder, `${name}.gguf`),
    modelfile = join(folder, `${name}.Modelfile`);
  run("export", join(folder, "hf"), "--out", gguf, "--modelfile");
  const text = readFileSync(modelfile, "utf8");
  assert(text.startsWith(`FROM ./${name}.gguf\nTEMPLATE """`), `${name} has a template in Go's language:\n${text}`);
  for (const messages of talks.filter((talk) => name !== "gemma" || talk[0].role !== "system")) {
    // which refuses system messages
    const variables = join(folder, "variables.json"),
      talk = join(folder, "talk.json");
    writeFileSync(variables, JSON.stringify({ messages, add_generation_prompt: true, bos_token: "" }));
    writeFileSync(talk, JSON.stringify(messages));
    const expected = run("tokenizer", "render", join(folder, "hf"), "--messages", variables);
    assert.equal(
      execFileSync(join(folder, "render"), [modelfile, talk], { encoding: "utf8" }),
      expected,
      `${name}: ${JSON.stringify(messages)}`,
    );
    compared += 1;
  }
}
console.log(`Modelfiles: ${compared} conversations as Ollama's templates write them`);
