// The pictures of docs/images: node pictures.mjs REPORT.html FOLDER. scripts/browser.sh puts this beside its packages.
import { join, resolve } from "node:path";
import { openBrowser, openPage } from "./browser.mjs";

const [report, folder] = process.argv.slice(2).map((path) => resolve(path));
const browser = await openBrowser();
for (const [name, options] of [["light", { height: 1000 }], ["dark", { height: 1000, scheme: "dark" }], ["narrow", { width: 390, height: 1000 }]]) {
  const { page } = await openPage(browser, `file://${report}`, options);
  const plot = await page.$(".chart.wide .u-over");
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.5);  // the legend has values
  await page.screenshot({ path: join(folder, `report-${name}.png`) });
}
await browser.close();
