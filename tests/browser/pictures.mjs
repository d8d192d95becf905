// The pictures of docs/images: node pictures.mjs PAGES OUT. scripts/browser.sh puts this beside its packages. PAGES has
//   report.html   dikkat report A B       sample.html   dikkat sample A --html       corpus.html   dikkat corpus inspect --html
import { join, resolve } from "node:path";
import { openBrowser, openPage } from "./browser.mjs";

const [pages, out] = process.argv.slice(2).map((path) => resolve(path));
const browser = await openBrowser();
const open = async (name, options) => (await openPage(browser, `file://${join(pages, name)}`, options)).page;

for (const [name, options] of [
  ["light", { height: 1000 }],
  ["dark", { height: 1000, scheme: "dark" }],
  ["narrow", { width: 390, height: 1000 }],
]) {
  const page = await open("report.html", options);
  const box = await (await page.$(".chart.wide .u-over")).boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5); // the legend has values
  await page.screenshot({ path: join(out, `report-${name}.png`) });
}
const sample = await open("sample.html", { height: 640 });
await sample.evaluate(() => choose(Math.floor(data.texts[0].tokens.length * 0.97)));
await sample.screenshot({ path: join(out, "sample.png") });
const corpus = await open("corpus.html", { height: 1000 });
await corpus.screenshot({ path: join(out, "corpus.png") });
await browser.close();
