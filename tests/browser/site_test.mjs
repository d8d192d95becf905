// The documentation's site in a real browser: node site_test.mjs DIKKAT FOLDER SOURCE. Without mkdocs nothing is checked.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { contrasts, openBrowser, openPage } from "./browser.mjs";

const [program, folder, source] = process.argv.slice(2).map((path) => resolve(path));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
try {
  execFileSync("mkdocs", ["--version"], { stdio: "ignore" });
} catch {
  console.log("site: SKIPPED, mkdocs is not installed");
  process.exit(0);
}
execFileSync("python3", [join(source, "docs/site/pages.py"), program, source, folder]);
execFileSync("mkdocs", ["build", "--quiet", "--strict"], { cwd: folder, stdio: "ignore" });

const browser = await openBrowser();
try {
  for (const scheme of ["light", "dark"]) {
    const { page } = await openPage(browser, `file://${join(folder, "html/METRICS.html")}`, { scheme });
    for (const selector of ["h1", "h2", "p", "td", "th", "code", "p a", ".bs-sidebar a"]) {
      const found = await contrasts(page, selector);
      const least = selector.endsWith("a") && scheme === "light" ? 3.5 : 4.5; // the theme's own blue is 3.98
      assert(
        found.length > 0 && Math.min(...found) >= least,
        `${scheme}: the contrast of ${selector} falls to ${Math.min(...found).toFixed(2)}, expected ${least}`,
      );
    }
    const [red, green, blue] = await page.evaluate(() =>
      getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number),
    );
    assert.equal(red + green + blue < 200, scheme === "dark", `${scheme}: the page's background is ${red}, ${green}, ${blue}`);
    await page.screenshot({ path: join(folder, `metrics-${scheme}.png`) });
    await page.close();
  }
  const { page } = await openPage(browser, `file://${join(folder, "html/index.html")}`, { width: 400, scheme: "dark" });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert(wide <= 0, `at 400 pixels the first page is ${wide} pixels wider than the window`);
} finally {
  await browser.close();
}
console.log("site: light and dark pages can be read, and fit a narrow window");
