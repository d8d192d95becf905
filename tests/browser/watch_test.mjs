// `dikkat watch` in a real browser: node watch_test.mjs DIKKAT FOLDER.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { openBrowser, openPage, until } from "./browser.mjs";
import { evaluationLine, line, makeRun, stepLine, header } from "./runs.mjs";

const [program, folder] = process.argv.slice(2).map((path) => resolve(path));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const run = makeRun(folder, "growing", { steps: 100, every: 50 });

const server = spawn(program, ["watch", run], { stdio: ["ignore", "pipe", "inherit"] });
const [url] = await new Promise((done) => createInterface(server.stdout).once("line", (words) => done([words])));
const browser = await openBrowser();
try {
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  const { page, errors } = await openPage(browser, url);
  const lastStep = () => page.evaluate(() => Math.max(...view.plots[0].data[0]));
  assert.equal(await lastStep(), 100);

  // New lines are drawn; half a line waits for its other half.
  const next = line(stepLine(101));
  appendFileSync(join(run, "metrics.jsonl"), next.slice(0, 30));
  appendFileSync(join(run, "metrics.jsonl"), next.slice(30) + line(stepLine(102)) + line(evaluationLine(102)));
  await until("step 102", async () => (await lastStep()) === 102);

  // Opened sections stay open, and so does a zoom.
  await page.evaluate(() => {
    document.querySelector("details[data-name=configuration]").open = true;
    zoom({ min: 10, max: 20 });
  });
  appendFileSync(join(run, "metrics.jsonl"), line(stepLine(103)) + line({ event: "stop", step: 103, reason: "SIGINT", time: 1795000009 }));
  await until("step 103", async () => (await lastStep()) === 103);
  assert(await page.evaluate(() => document.querySelector("details[data-name=configuration]").open), "an opened part was closed");
  assert.equal(await page.evaluate(() => view.plots[0].scales.x.max), 20, "the zoom was lost");

  // A second server gets another port.
  const another = spawn(program, ["watch", run], { stdio: ["ignore", "pipe", "ignore"] });
  const second_url = await new Promise((done) => createInterface(another.stdout).once("line", done));
  assert.notEqual(second_url, url);
  another.kill("SIGINT");
  assert.equal(await new Promise((done) => another.once("exit", done)), 0);

  // A resume truncates the file, and continues.
  let text = line(header());
  for (let step = 1; step <= 60; ++step) text += line(stepLine(step));
  writeFileSync(join(run, "new"), text + line({ event: "resume", step: 60, host: "here", threads: 2, time: 1795000010 }));
  renameSync(join(run, "new"), join(run, "metrics.jsonl"));
  await until("step 60", async () => (await lastStep()) === 60);

  // The page survives a run that is moved away, comes back or is removed.
  const state = () => page.evaluate(() => data.runs[0].state);
  renameSync(run, `${run}-moved`);
  await until("the run is missed", async () => (await state()) === "broken");
  assert.equal(await lastStep(), 60, "what was read stays");
  renameSync(`${run}-moved`, run);
  await until("the run is back", async () => (await state()) !== "broken");
  rmSync(run, { recursive: true });
  await until("the run is gone", async () => (await state()) === "broken");

  // Pages from elsewhere may not read it: a name of theirs that leads to this address is refused.
  const { port } = new URL(url);
  const status = (path, headers) =>
    new Promise((done, failed) => {
      request({ host: "127.0.0.1", port, path, headers }, (answer) => {
        answer.resume();
        done(answer.statusCode);
      })
        .on("error", failed)
        .end();
    });
  assert.equal(await status("/", { host: "evil.example" }), 403);
  assert.equal(await status("/data.json", { host: `localhost:${port}` }), 200);
  assert.equal(await status("/../../etc/passwd", {}), 404);

  const { page: second } = await openPage(browser, url, { scheme: "dark" }); // while the first one listens
  assert.equal(await second.title(), "growing – dikkat");
  assert.deepEqual(errors, []);
} finally {
  const ended = new Promise((done) => server.once("exit", (code) => done(code)));
  server.kill("SIGINT");
  const late = setTimeout(() => server.kill("SIGKILL"), 10_000);
  assert.equal(await ended, 0, "Ctrl-C ends it in order, although pages listen");
  clearTimeout(late);
  await browser.close();
}
console.log("watch: new lines, a resume, a moved and a removed run, and foreign hosts are as expected");
