// The pictures of the chat page in docs/images: node chat_pictures.mjs URL OUT, where URL is that of `dikkat serve`. scripts/browser.sh
// puts this beside its packages. The answers are planned, so that the pictures do not depend on a model.
import { join, resolve } from "node:path";
import { openBrowser, openPage, until } from "./browser.mjs";
import { FakeServer, pageOf } from "./fake_server.mjs";

const [url, out] = [process.argv[2], resolve(process.argv[3])];
const ANSWERS = {
  "What is a tape?": [
    { reasoning_content: "The word has several meanings. In autodiff, it is the record of a computation." },
    "A **tape** records each operation of a forward pass, so that gradients can be computed in reverse:\n\n" +
      "```cpp\nTape tape(Recording::on);\nconst Tensor loss = model(pass, tokens);\ntape.backward(loss);\n```\n\n" +
      "`backward` walks it from the last entry to the first.",
  ],
  "And how much memory does it need?": [
    "It keeps what the gradients read. For a batch of 8 windows:\n\n| | forward | with tape |\n|---|--:|--:|\n" +
      "| activations | 40 MB | 610 MB |\n| time | 41 ms | 124 ms |",
  ],
};
const server = await new FakeServer(await pageOf(url), { models: [{ id: "talks", context_length: 2048 }] }).start();
const browser = await openBrowser();
for (const [name, question, options] of [
  ["dark", "What is a tape?", { width: 850, height: 560, scheme: "dark" }],
  ["narrow", "And how much memory does it need?", { width: 360, height: 540 }],
]) {
  const { page } = await openPage(browser, server.url, options);
  const pieces = ANSWERS[question].flatMap((piece) => (typeof piece === "string" ? piece.match(/[^]{1,4}/g) : [piece]));
  server.plan = () => ({ pieces, pause: 24, usage: { prompt_tokens: 120, completion_tokens: 90 } });
  await page.type("#prompt", question);
  await page.keyboard.press("Enter");
  await until("the answer", () => page.evaluate(() => modules.page.running.size === 0), 60);
  await new Promise((done) => setTimeout(done, 300));
  await page.screenshot({ path: join(out, `chat-${name}.png`) });
  await page.close();
}
await browser.close();
await server.stop();
