// A headless Chromium (Debian's) and what the tests do with pages. Every error of a page's console fails the test.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";

export async function openBrowser() {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  assert(executablePath, "found no Chromium, expected /usr/bin/chromium (apt-get install chromium)");
  return puppeteer.launch({ executablePath, headless: true, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
}

// errors: what its console and scripts complain about.
export async function openPage(browser, url, { width = 1280, height = 900, scheme = "light" } = {}) {
  const page = await browser.newPage();
  const errors = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) errors.push(message.text()); });
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("requestfailed", (request) => errors.push(`${request.url()} failed`));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "load" });
  return { page, errors };
}

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
