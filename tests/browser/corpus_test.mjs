// `dikkat corpus inspect --html` in a real browser: node corpus_test.mjs DIKKAT FOLDER.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { openBrowser, openPage } from "./browser.mjs";
import { HOSTILE } from "./runs.mjs";

const [program, folder] = process.argv.slice(2).map((path) => resolve(path));
rmSync(folder, { recursive: true, force: true });
const texts = join(folder, `texts ${HOSTILE.replaceAll("/", "")}`);
mkdirSync(texts, { recursive: true });
const lines = [HOSTILE, "Bir gün gelir", "однажды", HOSTILE, "x".repeat(5000)];
writeFileSync(join(texts, "a.jsonl"), lines.map((text) => JSON.stringify({ text })).join("\n"));
writeFileSync(join(texts, `b ${"<b>"}.csv`), "1,2");
const found = JSON.parse(
  execFileSync(program, ["corpus", "inspect", texts, "--json", "--html", join(folder, "corpus.html")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  }),
);
assert.equal(found.duplicates.documents, 1);
assert(statSync(join(folder, "corpus.html")).size < 1e5);

const browser = await openBrowser();
try {
  for (const [name, options] of [
    ["light", {}],
    ["dark", { scheme: "dark" }],
    ["narrow", { width: 390 }],
  ]) {
    const { page, errors } = await openPage(browser, `file://${join(folder, "corpus.html")}`, options);
    assert.deepEqual(await page.evaluate(() => data), found, "the page has what --json prints");
    const text = await page.$eval("#main", (one) => one.innerText);
    for (const wanted of [
      "Documents by length",
      "Latin",
      "Cyrillic",
      "1 of 5 documents",
      "a.jsonl, line 4",
      "5,000",
      "end in .csv",
      HOSTILE,
    ]) {
      assert(text.includes(wanted), `the page says ${wanted}: ${text}`);
    }
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: wider than the window`);
    assert.deepEqual(errors, []);
    assert.equal(await page.evaluate(() => window.attacked), undefined, "a text became markup");
    assert.equal(await page.$$eval("main img, main script, main b", (all) => all.length), 0);
    await page.click("#theme");
    await page.screenshot({ path: join(folder, `corpus-${name}.png`), fullPage: true });
  }
} finally {
  await browser.close();
}
console.log("corpus: lengths, scripts, copies, long lines, files passed over and hostile texts are as expected");
