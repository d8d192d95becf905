// The chat page of `dikkat serve` in a real browser: node chat_test.mjs DIKKAT FOLDER REPOSITORY. First with a model, then with a server
// that does what the checks plan, which serves the same page with the same headers.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { openBrowser, openPage, until } from "./browser.mjs";
import { checkChatPage, unexpected } from "./chat_page.mjs";
import { pageOf } from "./fake_server.mjs";

const [program, folder, repository] = process.argv.slice(2).map((path) => resolve(path));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const run = join(folder, "run");
execFileSync(program, [
  "train",
  "--corpus",
  join(repository, "data/tales.txt"),
  "--out",
  run,
  "--quiet",
  "--set",
  "tokenizer.kind=bpe",
  "tokenizer.vocab_size=400",
  "model.n_layer=2",
  "model.n_embd=64",
  "model.block_size=256",
  "optim.learning_rate=0.01",
  "train.batch_size=4",
  "train.max_steps=40",
  "train.eval_tokens=128",
]);

// Starts the server. Returns it, and what it prints.
async function serve(...words) {
  const server = spawn(program, ["serve", run, "--port", "0", "--json", ...words], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((done) => server.once("exit", done));
  const { url } = JSON.parse(await new Promise((done) => createInterface(server.stdout).once("line", done)));
  return {
    url,
    end: () => {
      server.kill();
      return ended;
    },
  };
}

// A template that can switch its thoughts.
const template = join(folder, "template.jinja");
writeFileSync(
  template,
  "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}" +
    "{% if add_generation_prompt %}assistant: {% if not enable_thinking %}.{% endif %}{% endif %}",
);
const switching = await serve("--template", template);
assert.match((await pageOf(switching.url)).text, /id="config">{"feedback":false,"chat":true,"thinking":true}</);
await switching.end();

const ratings = join(folder, "ratings.jsonl");
const { url, end } = await serve("--api-key", "secret", "--feedback", ratings);
const browser = await openBrowser();
try {
  const served = await pageOf(url);
  const policy = served.headers["content-security-policy"];
  assert(policy.includes("default-src 'none'") && policy.includes("frame-ancestors 'none'") && !policy.includes("unsafe"), policy);
  assert.equal(served.headers["x-content-type-options"], "nosniff");
  assert.equal(served.headers["referrer-policy"], "no-referrer");
  assert(served.text.length < 300_000, `the page has ${served.text.length} characters`);

  // A model answers.
  const { page, errors } = await openPage(browser, url);
  await page.waitForSelector("#ask[open]");
  await page.keyboard.type("secret");
  await page.keyboard.press("Enter");
  await until("the model", () => page.evaluate(() => modules.page.state.models.length === 1));
  assert.equal(await page.$eval("#welcome-title", (one) => one.textContent), "run");
  const idle = () => until("the end of the answer", () => page.evaluate(() => modules.page.running.size === 0), 60);
  const say = async (text) => {
    await page.type("#prompt", text);
    await page.keyboard.press("Enter");
    await idle();
  };
  await page.evaluate(() => {
    modules.page.state.settings = {
      thinking: "",
      temperature: 0.7,
      top_k: 50,
      seed: 5,
      max_tokens: 12,
      repetition_penalty: 1.1,
      min_p: 0.01,
      top_p: 0.95,
    };
  });
  await say("Tell me about the king");
  const shown = () => page.evaluate(() => ({ ...modules.conversation.shownOf(modules.page.state.current.messages.at(-1)) }));
  const first = await shown();
  assert.equal(first.error, null);
  assert.equal(first.ending, "length");
  assert.equal(first.usage.completion_tokens, 12);
  assert(first.rate > 0 && first.first > 0 && first.seed === 5);
  assert.match(await page.$eval("#room-text", (one) => one.textContent), /of 256 tokens/);

  // Its continuation is what the same seed writes at once.
  await page.evaluate(() => {
    modules.page.state.settings.max_tokens = 20;
    document.querySelector(".ending button").click();
  });
  await idle();
  const whole = await shown();
  assert.equal(whole.usage.completion_tokens, 32);
  assert(whole.content.startsWith(first.content) && whole.content.length > first.content.length);
  const direct = await (
    await fetch(`${url}v1/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: "Bearer secret" },
      body: JSON.stringify({
        messages: [{ role: "user", content: "Tell me about the king" }],
        temperature: 0.7,
        top_k: 50,
        seed: 5,
        max_tokens: 32,
        repetition_penalty: 1.1,
        min_p: 0.01,
        top_p: 0.95,
      }),
    })
  ).json();
  assert.equal(whole.content, direct.choices[0].message.content);

  // Another answer, and ratings of both, in the file.
  await page.click("[data-rating=good]");
  await until("the mark", () => page.$eval("[data-rating=good]", (one) => one.getAttribute("aria-pressed") === "true"));
  await page.click("[aria-label='Another answer']");
  await idle();
  await page.click("[data-rating=bad]");
  await until("the mark", () => page.$eval("[data-rating=bad]", (one) => one.getAttribute("aria-pressed") === "true"));
  const lines = readFileSync(ratings, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ label }) => label),
    [true, false],
  );
  assert.deepEqual(lines[0].prompt, [{ role: "user", content: "Tell me about the king" }]);
  assert.deepEqual(lines[1].prompt, lines[0].prompt, "one prompt: the two lines are a pair");
  assert.deepEqual(lines[0].completion, [{ role: "assistant", content: whole.content }]);
  assert.notEqual(lines[1].completion[0].content, whole.content);
  assert.equal(lines[0].model, "run");

  // A conversation that has no room, and a wrong request.
  await page.evaluate(() => {
    modules.page.state.settings = { thinking: "" };
  });
  await say("word ".repeat(300));
  assert.equal((await shown()).error.code, "context_length_exceeded");
  assert.deepEqual(unexpected(errors, /status of (400|401)/), []);
  await page.close();

  await checkChatPage(browser, served, folder);
} finally {
  await browser.close();
  await end();
}
console.log("chat: answers, ratings, keys, narrow screens, refusals and hostile texts are as expected");
