// A headless Chromium (Debian's), and functions that the tests use on pages. Every error of a page's console fails the test.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";

export async function openBrowser() {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  assert(executablePath, "found no Chromium, expected /usr/bin/chromium (apt-get install chromium)");
  return puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

// errors: the complaints of its console and scripts.
export async function openPage(browser, url, { width = 1280, height = 900, scheme = "light" } = {}) {
  const page = await browser.newPage();
  const errors = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("requestfailed", (request) => errors.push(`${request.url()} failed`));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "load" });
  return { page, errors };
}

// The contrast of each element's letters with their background (WCAG 2.2): 1 to 21. A background that is nearly transparent does not count.
export const contrasts = (page, selector) =>
  page.$$eval(selector, (all) =>
    all.map((one) => {
      let behind = one;
      const covers = (element) => Number((getComputedStyle(element).backgroundColor.match(/[\d.]+/g) || [])[3] ?? 1) > 0.5;
      while (behind && !covers(behind)) behind = behind.parentElement;
      const background = behind ? getComputedStyle(behind).backgroundColor : "rgb(255, 255, 255)";
      const luminance = (color) => {
        const [red, green, blue] = color
          .match(/[\d.]+/g)
          .slice(0, 3)
          .map((value) => value / 255)
          .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
      };
      const [low, high] = [luminance(getComputedStyle(one).color), luminance(background)].sort((a, b) => a - b);
      return (high + 0.05) / (low + 0.05);
    }),
  );

export const near = (found, expected, what) =>
  assert(Math.abs(found - expected) <= 1e-5 * Math.max(1, Math.abs(expected)), `${what}: found ${found}, expected ${expected}`);

export async function until(what, condition, seconds = 15) {
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${what} did not happen in ${seconds} s`);
}
