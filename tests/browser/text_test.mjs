// `dikkat sample --html` and `dikkat eval --html` in a real browser: node text_test.mjs DIKKAT FOLDER.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { contrasts, near, openBrowser, openPage } from "./browser.mjs";
import { HOSTILE } from "./runs.mjs";

const [program, folder] = process.argv.slice(2).map((path) => resolve(path));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const dikkat = (...words) => execFileSync(program, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

// A model that has seen nothing but hostile text.
writeFileSync(join(folder, "text.txt"), `${HOSTILE}\n\ta line & another one\n`.repeat(40));
dikkat(
  "train",
  "--corpus",
  "text.txt",
  "--out",
  "run",
  "--set",
  "model.n_layer=2",
  "model.n_head=3",
  "model.n_embd=24",
  "model.block_size=32",
  "train.max_steps=30",
  "train.eval_interval=30",
  "train.batch_size=4",
  "optim.warmup_steps=2",
);
dikkat("sample", "run", "--prompt", "<img", "--max-new-tokens", "20", "--num-samples", "2", "--html", "sample.html");
const evaluated = JSON.parse(dikkat("eval", "run", "--json", "--html", "eval.html"));
for (const page of ["sample.html", "eval.html"]) assert(statSync(join(folder, page)).size < 2e6);

const browser = await openBrowser();
try {
  const { page, errors } = await openPage(browser, `file://${join(folder, "sample.html")}`);
  const shown = await page.$$eval(".token", (all) => all.map((one) => one.textContent));
  assert.equal(shown.slice(0, 4).join(""), "<img");
  assert.equal(shown.length, 24);
  assert.equal(await page.$$eval(".token.given", (all) => all.length), 4);
  // The alternatives are a distribution in order, and the token's own probability agrees with them.
  const tokens = await page.evaluate(() => data.texts[0].tokens);
  tokens.slice(1).forEach((token, i) => {
    const sum = token.a.reduce((all, [, p]) => all + p, 0);
    assert(sum > 0.1 && sum < 1.001, `token ${i + 1}: its alternatives add up to ${sum}`);
    token.a.slice(1).forEach(([, p], k) => assert(p <= token.a[k][1]));
    const own = token.a.find(([text]) => text === token.t);
    if (own) near(own[1], token.p, `the probability of token ${i + 1}`);
  });
  // A click shows where it looked: weights that add up to 1, of earlier tokens only, for each layer and head and their mean.
  await page.evaluate(() => spans[10].click());
  assert.equal(await page.$eval("#mode", (one) => one.value), "attention");
  for (const [layer, head] of [
    ["mean", "mean"],
    ["0", "0"],
    ["1", "2"],
  ]) {
    await page.select("#layer", layer);
    await page.select("#head", head);
    const look = await page.evaluate(() => lookOf(data.texts[0], 10));
    assert(
      Math.abs(look.reduce((a, b) => a + b, 0) - 1) < 0.03,
      `layer ${layer}, head ${head}: weights add up to ${look.reduce((a, b) => a + b, 0)}`,
    );
  }
  const ahead = await page.evaluate(() => {
    const text = data.texts[0],
      time = text.tokens.length; // shorter than the context
    return weightsOf(text).filter((weight, i) => i % time > Math.floor(i / time) % time && weight > 0).length;
  });
  assert.equal(ahead, 0, "no position looks ahead");
  const colors = () => page.$$eval(".token", (all) => all.map((one) => one.style.background));
  const before = await colors();
  await page.focus(".token.chosen");
  await page.keyboard.press("Escape");
  assert.equal(await page.$eval("#mode", (one) => one.value), "loss");
  assert.notDeepEqual(await colors(), before, "the colors of the losses are others");
  await page.focus(".token");
  await page.keyboard.press("ArrowRight");
  assert(await page.evaluate(() => document.activeElement === spans[1]), "→ moves to the next token");
  await page.select("#which", "sample 2");
  assert.notEqual(await page.$eval(".tokens", (one) => one.textContent), shown.join(""), "another sample");
  assert.deepEqual(errors, []);
  assert.equal(await page.evaluate(() => window.attacked), undefined, "a token became markup");
  assert.equal(await page.$$eval("main img, main script", (all) => all.length), 0);
  await page.screenshot({ path: join(folder, "sample.png") });

  // Letters can be read on every color, from a certain token to a surprising one: in both themes, in the prompt and in the text after it.
  for (const scheme of ["light", "dark"]) {
    const { page: colored } = await openPage(browser, `file://${join(folder, "sample.html")}`, { scheme });
    await colored.evaluate(() => {
      data.texts[0].tokens.forEach((token, i) => {
        if (isNumber(token.p)) token.p = Math.exp(-(i % 12));
      });
      paint();
    });
    const found = await contrasts(colored, ".token");
    assert(Math.min(...found) >= 4.5, `${scheme}: the contrast of letters falls to ${Math.min(...found).toFixed(2)}, expected 4.5`);
    await colored.screenshot({ path: join(folder, `colors-${scheme}.png`) });
    await colored.close();
  }

  const second = await openPage(browser, `file://${join(folder, "eval.html")}`, { scheme: "dark" });
  const losses = await second.page.evaluate(() => data.texts[0].tokens.map((token) => -Math.log(token.p)));
  assert.equal(losses.length, evaluated.tokens);
  assert(Math.abs(losses.reduce((a, b) => a + b, 0) / losses.length - evaluated.loss) < 1e-3, "their mean is the loss that eval prints");
  assert(await second.page.$eval("#main", (one) => one.textContent.includes("The most surprising tokens")));
  await second.page.$eval("table button", (one) => one.click());
  assert(await second.page.$eval("#about", (one) => /loss \d/.test(one.textContent)));
  assert.deepEqual(second.errors, []);
  assert.equal(await second.page.evaluate(() => window.attacked), undefined);
  await second.page.screenshot({ path: join(folder, "eval-dark.png") });
} finally {
  await browser.close();
}
console.log("text: tokens, probabilities, attention, losses and hostile texts are as expected");
