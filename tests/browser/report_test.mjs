// `dikkat report` in a real browser: node report_test.mjs DIKKAT FOLDER. Screenshots stay in FOLDER, for people.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { openBrowser, openPage, near } from "./browser.mjs";
import { HOSTILE, evaluationLine, makeRun, stepLine } from "./runs.mjs";

const [program, folder] = process.argv.slice(2).map((path) => resolve(path));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const report = (...words) => execFileSync(program, ["report", ...words], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();

const STEPS = 100_000,
  EVERY = 5000;
const long = makeRun(folder, "long", {
  steps: STEPS,
  every: EVERY,
  extra: [
    { event: "sample", step: EVERY, prompt: HOSTILE, text: "first" },
    { event: "sample", step: STEPS, prompt: "The ", text: `${HOSTILE} last` },
    { event: "stop", step: STEPS, reason: "SIGINT", time: 1795002000 },
    { event: "resume", step: STEPS, host: HOSTILE, threads: 2, time: 1795002001 },
    { event: "finish", step: STEPS, time: 1795002002 },
  ],
});
// Losses that are not finite are a gap.
const gap = makeRun(folder, "gap", {
  steps: 5,
  every: 5,
  extra: [
    ...[6, 7].map((step) => ({ ...stepLine(step), loss: null })),
    stepLine(8),
    { ...stepLine(9), time: 1e300, learning_rate: 1e-310 },
  ],
});
const other = makeRun(folder, 'b<img src=x onerror="window.attacked=1">', { steps: 3000, every: 500, rate: 2e-3, shift: 0.5 });

const page1 = report(long);
assert.equal(page1, join(long, "report.html"));
assert(statSync(page1).size < 2e6, `the page of ${STEPS} steps has ${statSync(page1).size} bytes, expected less than 2 MB`);
const page2 = report(long, other, "--out", join(folder, "compare.html"));

const browser = await openBrowser();
try {
  // One run: it is drawn soon, with the curves of metrics.jsonl.
  const { page, errors } = await openPage(browser, `file://${page1}`);
  const timing = await page.evaluate(() => {
    const begin = performance.now();
    draw(data);
    return performance.now() - begin;
  });
  assert(timing < 1000, `${STEPS} steps were drawn in ${timing} ms, expected less than a second`);
  const curves = await page.evaluate(() =>
    view.plots.map((plot) => ({ labels: plot.series.map((one) => one.label), data: plot.data.map((column) => Array.from(column)) })),
  );
  const loss = curves[0];
  assert.deepEqual(loss.labels, ["steps", "training, each step", "training, smoothed", "validation"]);
  const [x, train, , validation] = loss.data;
  let points = 0,
    evaluations = 0;
  x.forEach((step, i) => {
    if (train[i] != null) {
      near(train[i], stepLine(step).loss, `loss of step ${step}`);
      ++points;
    }
    if (validation[i] != null) {
      near(validation[i], evaluationLine(step).val_loss, `validation loss of step ${step}`);
      ++evaluations;
    }
  });
  assert.equal(evaluations, STEPS / EVERY);
  assert(points > 1000, `${points} points of the loss are drawn`);
  const lossesOfAll = Array.from({ length: STEPS }, (_, i) => stepLine(i + 1).loss);
  const least = (values) => values.reduce((a, b) => Math.min(a, b)),
    most = (values) => values.reduce((a, b) => Math.max(a, b));
  const drawn = train.filter((value) => value != null);
  near(least(drawn), least(lossesOfAll), "the lowest loss");
  near(most(drawn), most(lossesOfAll), "the highest loss");
  assert(curves.length >= 7, `${curves.length} panels are drawn`);
  const text = await page.evaluate(() => document.body.innerText);
  for (const expected of ["finished", "100,000 of 100,000", "1.1000 ± 0.0100", "1.5870", "11,072"]) {
    // bits per byte: 1.1 / ln 2
    assert(text.includes(expected), `the page does not say ${expected}`);
  }

  // The mouse shows values, a drag zooms, two clicks show everything again, and so do keys.
  const over = await page.$(".chart.wide .u-over");
  const box = await over.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const legend = await page.$eval(".chart.wide .u-legend", (one) => one.innerText);
  assert(/steps:?\s*(49|50|51),\d{3}/.test(legend), `the legend says ${legend}`);
  const range = () => page.evaluate(() => ["min", "max"].map((end) => view.plots.map((plot) => plot.scales.x[end])));
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const zoomed = await range();
  assert(
    zoomed[0].every((min) => Math.abs(min - STEPS / 2) < STEPS / 50) && zoomed[1].every((max) => Math.abs(max - STEPS * 0.75) < STEPS / 50),
    `a drag zooms to ${zoomed}`,
  );
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2, { count: 2 });
  assert.equal(Math.max(...(await range())[1]), STEPS, "two clicks show all");
  await page.focus(".chart.wide");
  await page.keyboard.press("+");
  assert((await range())[1][0] < STEPS * 0.8, "+ zooms");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Escape");
  assert.equal((await range())[1][0], STEPS, "Escape shows all");

  // The axes can be changed.
  await page.select(".controls select", "hours");
  const hours = await page.evaluate(() => view.plots[0].data[0][view.plots[0].data[0].length - 1]);
  assert(Math.abs(hours - (STEPS * 0.02 + (STEPS / EVERY) * 0.1) / 3600) < 0.01, `the last step is at ${hours} hours`);
  await page.select(".controls select", "tokens");
  assert.equal(await page.evaluate(() => view.plots[0].data[0][view.plots[0].data[0].length - 1]), STEPS * 1024);
  await page.evaluate(() => {
    for (const box of document.querySelectorAll(".controls input[type=checkbox]")) box.click();
  });
  assert.equal(await page.evaluate(() => view.plots[0].scales.y.distr), 3, "a logarithmic axis");
  assert.deepEqual(errors, []);
  assert.equal(await page.evaluate(() => window.attacked), undefined, "text of a run became markup");
  assert.equal(await page.$$eval("img, iframe, object", (all) => all.length), 0, "text of a run became an element");
  const samples = await page.$$eval("pre", (all) => all.map((one) => one.textContent));
  assert(
    samples.some((sample) => sample === `The ${HOSTILE} last`),
    "the last sample is shown",
  );
  await page.close();

  const broken = await openPage(browser, `file://${report(gap)}`);
  const [steps, losses] = await broken.page.evaluate(() => [Array.from(view.plots[0].data[0]), Array.from(view.plots[0].data[1])]);
  assert.deepEqual(
    steps.map((step, i) => losses[i] === null),
    [false, false, false, false, false, true, true, false, false],
    "null is a gap",
  );
  assert.equal(await broken.page.evaluate(() => view.plots[0].series[1].spanGaps), false);
  assert.deepEqual(broken.errors, []);
  await broken.page.close();

  // Two runs: the better one is marked, and the differences are listed.
  const two = await openPage(browser, `file://${page2}`);
  // The page shows which is better, by how much, and with what certainty; times are whole seconds.
  const [better, verdict, changed] = await two.page.evaluate(() => [
    data.better,
    document.getElementById("better").textContent,
    data.runs.map((run) => run.last_change),
  ]);
  const [a, b] = await two.page.evaluate(() => data.runs.map((run) => Math.min(...run.evaluations.val)));
  assert(better.startsWith(`${long} is better than ${other} by ${(b - a).toFixed(4)} +- 0.0141 nats.`), better);
  assert.equal(verdict, better.replace("+-", "±"));
  changed.forEach((seconds) => assert(Math.abs(seconds - Date.now() / 1000) < 600, `changed at ${seconds}`));
  const words = await two.page.evaluate(() => document.body.innerText);
  for (const expected of ["optim.learning_rate", "0.001", "0.002", "train.max_steps"])
    assert(words.includes(expected), `the comparison does not say ${expected}`);
  const [lastCurve, table] = await two.page.evaluate(() => {
    const code = [...document.querySelectorAll("td code")].find((one) => one.textContent === "optim.learning_rate");
    return [
      Math.max(...[...document.querySelectorAll(".chart")].map((one) => one.getBoundingClientRect().bottom)),
      code.closest("table").getBoundingClientRect().top,
    ];
  });
  assert(lastCurve > 0 && table >= lastCurve, `the differences begin at ${table}, expected below the curves, which end at ${lastCurve}`);
  assert.equal(await two.page.$eval(".best", (one) => one.textContent), "1.1000 ± 0.0100");
  assert.equal(await two.page.evaluate(() => view.plots[0].series.length), 7, "three curves of each run");
  assert.deepEqual(two.errors, []);
  assert.equal(await two.page.evaluate(() => window.attacked), undefined);
  await two.page.screenshot({ path: join(folder, "compare-light.png"), fullPage: true });
  await two.page.close();

  // Losses over other tokens have no best, and the key that makes the difference is named. Bits per byte have one if the text is the same.
  const scored = (targets, text) => ({ targets, contexts: targets, text });
  const answers = makeRun(folder, "answers", { steps: 100, every: 50, config: '[chat]\nloss = "answers"\n', scored: scored("a", "p") });
  const everything = makeRun(folder, "everything", {
    steps: 100,
    every: 50,
    shift: -0.4,
    config: '[chat]\nloss = "all"\n',
    scored: scored("b", "q"),
  });
  const pieces = makeRun(folder, "pieces", { steps: 100, every: 50, shift: 0.4, scored: scored("c", "p") });
  for (const [name, runs, bests, words] of [
    ["targets", [answers, everything], 0, "chat.loss"],
    ["text", [answers, pieces], 1, "bits per byte"],
  ]) {
    const apart = await openPage(browser, `file://${report(...runs, "--out", join(folder, `${name}.html`))}`);
    assert.equal(await apart.page.$$eval(".best", (all) => all.length), bests, `${name}: marked as the best`);
    assert.equal(await apart.page.$("#better"), null, `${name}: nothing is called better`);
    const remark = await apart.page.$eval("#remark", (one) => one.textContent);
    assert(remark.includes(words), `${name}: ${remark}`);
    assert.deepEqual(apart.errors, []);
    await apart.page.close();
  }

  for (const [name, options] of [
    ["dark", { scheme: "dark" }],
    ["narrow", { width: 400, height: 844 }],
  ]) {
    const shown = await openPage(browser, `file://${page2}`, options);
    const wide = await shown.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert(wide <= 0, `${name}: the page is ${wide} pixels wider than the window`);
    // The figures by which a run is judged are in the window without scrolling to the side, and legible.
    const losses = await shown.page.$$eval(".best", (all) =>
      all.map((one) => [one.getBoundingClientRect().left, one.getBoundingClientRect().right]),
    );
    assert(
      losses.length > 0 && losses.every(([left, right]) => left >= 0 && right <= (options.width || 1280)),
      `${name}: the lowest loss is at ${losses}`,
    );
    const heading = await shown.page.$eval(".best", (one) => getComputedStyle(one.closest("td"), "::before").content);
    assert.equal(heading, name === "narrow" ? '"lowest validation loss"' : "none", `${name}: beside the loss stands what it is`);
    assert.deepEqual(shown.errors, [], name);
    await shown.page.screenshot({ path: join(folder, `compare-${name}.png`), fullPage: true });
    await shown.page.close();
  }
} finally {
  await browser.close();
}
console.log(`report: ${STEPS} steps, curves, hover, zoom, keys, axes and hostile texts are as expected`);
