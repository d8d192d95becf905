// Checks of the chat page against a server that does what a test plans. chat_test.mjs calls them.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { contrasts, openPage, until } from "./browser.mjs";
import { FakeServer } from "./fake_server.mjs";
import { HOSTILE } from "./runs.mjs";

const MEGABYTE = 1 << 20;

// Complaints of a page but those that are expected. Chromium sometimes counts a request as aborted although its response was read to the
// end.
export const unexpected = (errors, expected = /^$/) => errors.filter((text) => !expected.test(text) && !/completions failed$/.test(text));

// Texts that a model might be made to write.
const HOSTILE_TEXTS = [
  HOSTILE,
  '<svg onload="window.attacked=1"></svg> <iframe src="javascript:window.attacked=1"></iframe> ' +
    '<form action="/v1/models"><input></form> <style>*{display:none}</style>',
  "[a](javascript:window.attacked=1) [b](JaVaScRiPt:window.attacked=1) [c](data:text/html,<script>window.attacked=1</script>) " +
    "[d](vbscript:x) [e](java\tscript:x) <javascript:window.attacked=1>",
  "[f](  javascript:x) [g](&#106;avascript:x) [h](//evil.example/x) [i](/v1/models) [j][ref]\n\n[ref]: javascript:window.attacked=1",
  "![picture](https://evil.example/pixel.png) ![](//evil.example/pixel.gif) " +
    "[![nested](https://evil.example/a.png)](https://evil.example/) ![x](javascript:window.attacked=1)",
  'a [good](https://example.org/a?b=c&d="e") one, <https://example.org/>, [mail](mailto:a@example.org)',
  "```html\n<script>window.attacked=1</script>\n```\n\n````\n```\nnested\n```\n````\n\n```js\nunclosed <script>window.attacked=1</script>",
  '``` "><img src=x onerror=window.attacked=1>\ncode\n```\n',
  "`<img src=x onerror=window.attacked=1>` ``a ` b`` `unclosed <b>",
  `${"> ".repeat(300)}deep\n\n${Array.from({ length: 200 }, (_, i) => `${" ".repeat(2 * i)}- level`).join("\n")}`,
  `- a\n\n  - b\n\n    1. c\n\n       > d\n       > \`\`\`\n       > e\n\n` +
    `- f\n3. g\n\n| a | b |\n|:--|--:|\n| ${HOSTILE} | \`|\` |\n\nhead\n====\n\n###### h6\n`,
  "\u202edesrever\u202c and \u2066isolated\u2069, a bell \u0007, an escape \u001b[31m, a null \u0000 and a delete \u007f",
  "مرحبا بالعالم **عريض** `code` and שלום",
  `${"W".repeat(3000)} https://example.org/${"a".repeat(2000)} ${"\u0301".repeat(500)}z${"\u0489".repeat(500)}`,
  "&lt;script&gt;window.attacked=1&lt;/script&gt; &#60;img src=x onerror=window.attacked=1&#62; &amp;",
  "{{config}} {{script}} ${window.attacked=1} </script><script>window.attacked=1</script> <!-- --> ]]>",
  "\\<b\\> *a **b* c** ***d*** ~~e~~ __f__ _g_ a*b*c 2 * 3 * 4\r\nline\rline\n\n---\n***\n",
  "[early] and\n\n[a]: https://example.org/a\n\n[a] [A][] [b][a] [early]\n\n" +
    '[early]: https://example.org/early "title"\n[a]: https://evil.example/\n',
  "__proto__ constructor [__proto__]: x\n\n[toString]\n\n[constructor][__proto__]",
];

export async function checkChatPage(browser, page, folder) {
  const servers = [];
  const contexts = [];
  // Opens the page in a browser without history. Every request elsewhere fails the test.
  const open = async ({ options = {}, ...rest } = {}) => {
    const server = await new FakeServer(page, rest).start();
    servers.push(server);
    const context = await browser.createBrowserContext();
    contexts.push(context);
    return { server, context, ...(await again(context, server, options)) };
  };
  const again = async (context, server, options = {}) => {
    const opened = await openPage(context, server.url, options);
    const elsewhere = [];
    opened.page.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("data:") && !request.url().startsWith("blob:"))
        elsewhere.push(request.url());
    });
    return { ...opened, elsewhere };
  };
  const idle = (page) => until("the end of the answer", () => page.evaluate(() => modules.page.running.size === 0), 60);
  const say = async (page, text) => {
    await page.focus("#prompt");
    await page.evaluate((value) => {
      document.execCommand("insertText", false, value);
    }, text);
    await page.keyboard.press("Enter");
    await idle(page);
  };
  const answers = (page) => page.$$eval(".answer .text", (all) => all.map((one) => one.innerText));
  const width = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

  // ---- An answer comes piece by piece, with its speed and its part of the context.
  {
    const { server, context, page, errors, elsewhere } = await open();
    server.plan = () => ({
      pieces: ["Hello", " **world**", ".\n\n- a\n- b"],
      usage: { prompt_tokens: 40, completion_tokens: 60 },
      rate: 614.2,
    });
    await page.click("#open-settings");
    await page.type("#system", "Be brief.");
    await page.type("#set-temperature", "0.7");
    await page.type("#set-top_k", "40");
    await page.type("#set-seed", "5");
    await page.type("#set-top_p", "7");
    assert.equal(await page.$eval("#set-top_p", (one) => one.getAttribute("aria-invalid")), "true");
    assert.match(await page.$eval("#hint-top_p", (one) => one.textContent), /0 to 1/);
    await page.keyboard.press("Escape");
    await say(page, "Hi\nthere");
    const { path, body } = server.requests[0];
    assert.equal(path, "/v1/chat/completions");
    assert.deepEqual(body, {
      model: "fake",
      temperature: 0.7,
      top_k: 40,
      seed: 5,
      stream: true,
      stream_options: { include_usage: true },
      timings_per_token: true,
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hi\nthere" },
      ],
    });
    assert.equal(
      await page.$eval(".answer .text", (one) => one.innerHTML),
      '<p dir="auto">Hello <strong>world</strong>.</p><ul><li dir="auto">a</li><li dir="auto">b</li></ul>',
    );
    assert.match(
      await page.$eval("#speed", (one) => one.textContent),
      /fake · 614 tokens\/s · first after/,
      "as the server measured, although the parts came at once",
    );
    assert.match(await page.$eval(".answer .what", (one) => one.textContent), /^60 tokens, 614 tokens\/s$/);
    assert.equal(await page.$eval("#room-text", (one) => one.textContent), "100 of 1,000 tokens");
    assert.equal(await page.$eval("#room-bar", (one) => one.getAttribute("aria-valuenow")), "100");
    await say(page, "more");
    assert.deepEqual(
      server.requests[1].body.messages.slice(1).map(({ role }) => role),
      ["user", "assistant", "user"],
    );
    assert.equal(server.requests[1].body.messages[2].content, "Hello **world**.\n\n- a\n- b");

    // Another answer to the same message, and back.
    server.plan = () => ({ pieces: ["Another"] });
    await page.click(".answer:last-child [aria-label='Another answer']");
    await idle(page);
    assert.equal(server.requests[2].body.messages.length, 4);
    assert.equal(server.requests[2].body.seed, 6, "the seed of another answer");
    assert.equal((await answers(page))[1], "Another");
    await page.click("[data-step=before]");
    assert.match((await answers(page))[1], /^Hello/);
    await page.click("[data-step=after]");
    assert.equal((await answers(page))[1], "Another");

    // An edited message is asked again; what came after it is gone.
    await page.hover(".user");
    await page.click(".user [aria-label='Edit and ask again']");
    assert.match(await page.$eval(".edit .hint", (one) => one.textContent), /2 later messages/);
    await page.keyboard.type(" you");
    await page.keyboard.press("Enter");
    await idle(page);
    assert.deepEqual(server.requests[3].body.messages.at(-1), { role: "user", content: "Hi\nthere you" });
    assert.equal((await answers(page)).length, 1);

    // Conversations are kept, renamed, deleted, exported and imported.
    await page.click("#new");
    await say(page, "Second conversation");
    assert.equal((await page.$$("#list li")).length, 2);
    await page.hover("#list li:last-child");
    await page.click("#list li:last-child [data-part=rename]");
    await page.keyboard.type("A name");
    await page.keyboard.press("Enter");
    await until("the new name", () => page.$eval("#list", (one) => one.innerText.includes("A name")));
    const next = await again(context, server);
    assert.equal((await next.page.$$("#list li")).length, 2, "conversations are kept");
    await next.page.click("#list li:last-child .open");
    assert.equal((await answers(next.page))[0], "Another");
    assert.equal(await next.page.$eval("#title", (one) => one.textContent), "A name");
    assert.equal(await next.page.evaluate(() => modules.page.state.settings.temperature), 0.7);
    const lines = (await next.page.evaluate(() => modules.conversation_lines.exported([...modules.page.conversations.values()])))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.deepEqual(lines.find((line) => line.messages[1].content.startsWith("Hi")).messages, [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Hi\nthere you" },
      { role: "assistant", content: "Another" },
    ]);
    const file = join(folder, "import.jsonl");
    writeFileSync(
      file,
      `${JSON.stringify({
        messages: [
          { role: "user", content: HOSTILE },
          { role: "assistant", content: HOSTILE },
        ],
      })}\n\n`,
    );
    await (await next.page.$("#import-file")).uploadFile(file);
    await until("the import", () => next.page.$$eval("#list li", (all) => all.length === 3));
    writeFileSync(file, `{"messages": [{"role": "assistant", "content": "x"}]}\n`);
    await (await next.page.$("#import-file")).uploadFile(file);
    await until("the refusal", () => next.page.$eval("#notice", (one) => !one.hidden && one.textContent.includes("Line 1")));
    await next.page.hover("#list li.current");
    await next.page.click("#list li.current [data-part=delete]");
    await next.page.click("#ask-yes");
    await until("the deletion", () => next.page.$$eval("#list li", (all) => all.length === 2));
    await until("the other tab", () => page.$$eval("#list li", (all) => all.length === 2));

    // What others put into the storage is left out, or shown as text.
    await next.page.evaluate((hostile) => {
      localStorage.setItem("dikkat.chat.1.bad", "{");
      localStorage.setItem(
        "dikkat.chat.1.worse",
        JSON.stringify({ id: "worse", messages: [{ role: "assistant", variants: [{ content: 7 }] }] }),
      );
      localStorage.setItem(
        `dikkat.chat.1.x"y`,
        JSON.stringify({
          id: `x"y`,
          title: hostile,
          updated: 9e15,
          messages: [
            { role: "user", content: hostile },
            { role: "assistant", shown: 99, variants: [{ content: hostile, ending: "odd", error: { message: hostile } }] },
          ],
        }),
      );
      localStorage.setItem("dikkat.chat.settings", JSON.stringify({ temperature: "hot", top_k: -5, thinking: 3 }));
    }, HOSTILE);
    const third = await again(context, server);
    assert.equal((await third.page.$$("#list li")).length, 3);
    await third.page.click("#list li .open");
    assert((await third.page.$eval("#title", (one) => one.textContent)).includes("<img"));
    assert.equal(await third.page.evaluate(() => window.attacked), undefined);
    assert.deepEqual(
      [...unexpected([...errors, ...next.errors, ...third.errors]), ...elsewhere, ...next.elsewhere, ...third.elsewhere],
      [],
    );
  }

  // ---- Stopped, cut and continued answers.
  {
    const { server, page, errors } = await open();
    const pieces = Array.from({ length: 110 }, (_, i) => `word${i} `);
    server.plan = () => ({ pieces, pause: 20, seed: 1234 });
    await page.type("#prompt", "long");
    await page.keyboard.press("Enter");
    await until("some words", async () => /word3/.test((await answers(page))[0] || ""));
    await page.keyboard.press("Escape");
    await idle(page);
    const part = (await answers(page))[0];
    assert(part.startsWith("word0 word1") && !part.includes("word109"));
    await until("the server's end", () => server.finished !== true);
    assert(await page.$eval(".ending", (one) => one.textContent.includes("Stopped")));
    const lengths = [];
    await page.exposeFunction("seen", (length) => lengths.push(length));
    await page.evaluate(() => {
      new MutationObserver(() => seen(document.querySelector(".answer .text").textContent.length)).observe(
        document.querySelector(".answer"),
        { childList: true, subtree: true, characterData: true },
      );
    });
    await page.evaluate(() => [...document.querySelectorAll(".ending button")].find((one) => one.textContent === "Continue").click());
    await idle(page);
    assert.equal(server.requests[1].body.seed, 1234, "the same request with the seed of the answer");
    assert.deepEqual(server.requests[1].body.messages, server.requests[0].body.messages);
    assert.equal((await answers(page))[0], pieces.join("").trim());
    assert(
      lengths.every((length) => length >= part.length - 1),
      "what was there stays while it is continued",
    );

    server.plan = () => ({ pieces: pieces.slice(0, 10), cut: true });
    await say(page, "cut");
    assert.match((await answers(page))[1], /^word0 .* word9$/);
    assert.match(await page.$eval(".answer:last-child .error", (one) => one.innerText), /incomplete/);
    server.plan = () => ({ pieces: pieces.slice(0, 5), failure: "the server is shutting down" });
    await page.evaluate(() => [...document.querySelectorAll(".error button")].find((one) => one.textContent === "Try again").click());
    await idle(page);
    assert.match(await page.$eval(".answer:last-child .error", (one) => one.innerText), /shutting down/);
    assert.match((await answers(page))[1], /^word0 .* word4$/);
    assert.equal(await page.$eval(".answer:last-child .which span", (one) => one.textContent), "2 / 2", "the cut answer is still there");

    // The limit of the length.
    await page.evaluate(() => {
      modules.page.state.settings.max_tokens = 10;
    });
    server.plan = ({ body }) => ({ pieces: pieces.slice(0, body.max_tokens), finish: body.max_tokens < 40 ? "length" : "stop" });
    await say(page, "limited");
    assert.match((await answers(page))[2], /word9$/);
    await page.evaluate(() => {
      modules.page.state.settings.max_tokens = 100;
      document.querySelector(".answer:last-child .ending button").click();
    });
    await idle(page);
    assert.equal(server.requests.at(-1).body.max_tokens, 110);
    assert.equal((await answers(page))[2], pieces.join("").trim());

    // A page that is closed in the middle of an answer keeps what it had.
    server.plan = () => ({ pieces, pause: 20 });
    await page.type("#prompt", "closed");
    await page.keyboard.press("Enter");
    await until("some words", async () => /word3/.test((await answers(page))[3] || ""));
    await page.reload();
    await page.click("#list li .open");
    assert.match((await answers(page))[3], /^word0 word1 word2/);
    assert.match(await page.$eval(".answer:last-child .ending", (one) => one.textContent), /closed/);
    assert.deepEqual(unexpected(errors, /ERR_INCOMPLETE_CHUNKED_ENCODING/), []);
  }

  // ---- Thoughts are folded, in both forms, and are not sent again.
  {
    const { server, page, errors } = await open();
    const shown = () =>
      page.$$eval(".answer:last-child", ([one]) => {
        const thought = one.querySelector(".thought");
        return {
          hidden: thought.hidden,
          open: thought.open,
          thought: thought.querySelector(".inner").textContent,
          text: one.querySelector(".text").innerText,
        };
      });
    const plans = [
      [{ reasoning_content: "Let me " }, { reasoning_content: `think ${HOSTILE}` }, "Answer."],
      ["<thi", "nk>\nLet me ", `think ${HOSTILE}</th`, "ink>\n\nAnswer."],
      [`Let me think ${HOSTILE}`, "\n</think>\n\nAnswer."],
    ];
    for (const pieces of plans) {
      server.plan = () => ({ pieces });
      await say(page, "think");
      assert.deepEqual(await shown(), { hidden: false, open: false, thought: `Let me think ${HOSTILE}`, text: "Answer." });
      await page.click(".answer:last-child summary");
      assert(await page.$eval(".answer:last-child .inner", (one) => one.offsetHeight > 0));
    }
    server.plan = () => ({ pieces: ["Write `</think>` after your thoughts, a <think> before."] });
    await say(page, "about");
    assert.deepEqual(
      server.requests
        .at(-1)
        .body.messages.filter(({ role }) => role === "assistant")
        .map(({ content }) => content),
      ["Answer.", "Answer.", "Answer."],
    );
    assert.equal((await shown()).hidden, true, "a word about thinking is not a thought");
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.deepEqual(unexpected(errors), []);

    // They can be switched off where the template can.
    await page.click("#open-settings");
    assert.equal(await page.$eval("#thinking-field", (one) => one.hidden), true);
    const can = await open({ config: { thinking: true } });
    await can.page.click("#open-settings");
    for (const [value, sent] of [
      ["off", false],
      ["on", true],
      ["", undefined],
    ]) {
      await can.page.select("#thinking", value);
      await can.page.keyboard.press("Escape");
      await say(can.page, value || "as the template does");
      assert.equal(can.server.requests.at(-1).body.enable_thinking, sent);
      await can.page.click("#open-settings");
    }
  }

  // ---- Hostile texts, in pieces of any length, become what they become as a whole, and nothing else.
  {
    const { server, page, errors, elsewhere } = await open();
    let seed = 1;
    const random = (below) => {
      seed = (seed * 48271) % 2147483647;
      return seed % below;
    };
    for (const text of HOSTILE_TEXTS) {
      const pieces = [];
      for (let from = 0; from < text.length;) pieces.push(text.slice(from, (from += 1 + random(9))));
      server.plan = () => ({ pieces });
      await say(page, text);
      const same = await page.evaluate(async (whole) => {
        const root = document.createElement("div");
        new modules.markdown_view.MarkdownView(root).update(whole);
        const growing = document.createElement("div");
        const view = new modules.markdown_view.MarkdownView(growing);
        for (let i = 1; i <= whole.length; i += whole.length > 2000 ? 53 : 1) view.update(whole.slice(0, i));
        view.update(whole);
        view.finish();
        const shown = document.querySelector(".answer:last-child .text");
        return [
          root.innerHTML === growing.innerHTML || [root.innerHTML, growing.innerHTML],
          root.innerHTML === shown.innerHTML,
          shown.textContent.length > 0,
        ];
      }, text);
      assert.deepEqual(same, [true, true, true], JSON.stringify(text.slice(0, 100)));
    }
    assert.equal(await page.evaluate(() => window.attacked), undefined, "text of a model became a script");
    assert.deepEqual(
      await page.$$eval("#log *", (all) =>
        [...new Set(all.map((one) => one.localName))].filter((name) =>
          /^(img|script|iframe|object|embed|form|input|style|link|base|meta|video|audio)$/.test(name),
        ),
      ),
      [],
    );
    assert.equal(
      await page.$$eval(
        "#log *",
        (all) =>
          all.filter((one) =>
            [...one.attributes].some(
              ({ name }) =>
                /^on|^style$|^src$|^srcdoc$/.test(name) && !(name === "style" && /^text-align: \w+;$/.test(one.getAttribute("style"))),
            ),
          ).length,
      ),
      0,
    );
    const links = await page.$$eval("#log a", (all) => all.map(({ href, rel, target }) => ({ href, rel, target })));
    assert.deepEqual(
      links.map(({ href }) => href),
      [
        "https://evil.example/pixel.png",
        "https://evil.example/",
        "https://example.org/a?b=c&d=%22e%22",
        "https://example.org/",
        "mailto:a@example.org",
        "https://example.org/early",
        "https://example.org/a",
        "https://example.org/a",
        "https://example.org/a",
        "https://example.org/early",
      ],
    );
    for (const { href, rel, target } of links)
      assert(/^(https?|mailto):/.test(href) && rel.includes("noopener") && target === "_blank", href);
    assert((await page.$$eval(".control", (all) => all.map((one) => one.textContent))).includes("U+202E"));
    assert.equal(await page.$eval("#log", (one) => /[\u202a-\u202e\u0007\u001b]/.test(one.textContent)), false);
    assert((await width(page)) <= 0, "a long word makes the page wider");
    assert.equal(
      await page.evaluate(() => [...document.querySelectorAll(".message")].every((one) => one.getBoundingClientRect().right <= innerWidth)),
      true,
    );
    assert.deepEqual([...unexpected(errors), ...elsewhere], []);

    // The narrow page, too.
    await page.setViewport({ width: 320, height: 640 });
    assert((await width(page)) <= 0, "320 pixels");
    assert.equal(
      await page.evaluate(() => document.getElementById("frame").scrollWidth <= document.getElementById("frame").clientWidth),
      true,
    );
    await new Promise((done) => setTimeout(done, 300)); // the list slides away
    await page.screenshot({ path: join(folder, "hostile-narrow.png") });
  }

  // ---- Very long answers do not stop the page.
  {
    const { server, page, errors } = await open({ models: [{ id: "fake", context_length: 10_000_000 }] });
    const long = {
      paragraphs: "Some words of a *paragraph*, with `code`.\n\n".repeat(MEGABYTE / 43),
      word: "a".repeat(MEGABYTE),
      code: `\`\`\`\n${"int x = 0;  // <b>\n".repeat(MEGABYTE / 19)}`,
      brackets: "[".repeat(MEGABYTE),
      table: `a|b\n-|-\n${"x|y\n".repeat(20_000)}`,
    };
    for (const [name, text] of Object.entries(long)) {
      server.plan = () => ({ pieces: text.match(/[^]{1,4096}/g) });
      await page.click("#new");
      await page.type("#prompt", name);
      await page.keyboard.press("Enter");
      const began = Date.now();
      let longest = 0;
      await until(
        `the end of ${name}`,
        async () => {
          const asked = Date.now();
          const over = await page.evaluate(() => modules.page.running.size === 0);
          longest = Math.max(longest, Date.now() - asked);
          return over;
        },
        120,
      );
      assert.equal(
        await page.evaluate(() => modules.conversation.shownOf(modules.page.state.current.messages[1]).content.length),
        text.length,
      );
      await page.evaluate(() =>
        [...document.querySelectorAll(".answer button")]
          .find((one) => one.textContent === "Show all" && one.offsetParent !== null)
          ?.click(),
      );
      assert((await page.$eval(".answer .text", (one) => one.textContent.length)) > text.length / 3);
      console.log(
        `chat: ${name}, ${(text.length / 1e6).toFixed(1)} MB: ${((Date.now() - began) / 1000).toFixed(1)} s, ` +
          `the page paused for up to ${(longest / 1000).toFixed(1)} s`,
      );
      await page.focus("#prompt");
      await page.keyboard.type("ok");
      assert.equal(await page.$eval("#prompt", (one) => one.value), "ok");
      await page.evaluate(() => {
        document.getElementById("prompt").value = "";
      });
    }
    // Five of these are more than the browser keeps. The page says so, and the conversations stay for now.
    await page.click("#new");
    server.plan = () => ({ pieces: ["b".repeat(4 * MEGABYTE)] });
    await say(page, "too much");
    await say(page, "and more");
    assert.match(await page.$eval("#notice", (one) => (one.hidden ? "" : one.textContent)), /storage/);
    assert.deepEqual(unexpected(errors), []);
  }

  // ---- Control characters and large blocks make no more elements than a browser shows at once.
  {
    const { server, page, errors } = await open();
    const bells = "\u0007".repeat(20_000),
      mixed = "a\u0007b\u001b".repeat(10_000);
    for (const [text, name] of [
      [bells, "a run"],
      [`\`\`\`\n${mixed}\n\`\`\``, "code"],
      [mixed, "a paragraph"],
    ]) {
      server.plan = () => ({ pieces: text.match(/[^]{1,500}/g), pause: 1 });
      await page.click("#new");
      const began = Date.now();
      await say(page, name);
      const marks = await page.$$eval(".answer .control", (all) => all.map((one) => one.textContent));
      assert(marks.length <= 500, `${name}: ${marks.length} marks`);
      if (text === bells) assert.deepEqual(marks, [`${Array(8).fill("U+0007").join(" ")} … (20,000)`]);
      assert.equal(await page.$eval(".answer .text", (one) => /[\u0007\u001b]/.test(one.textContent)), false, name);
      console.log(`chat: control characters, ${name}: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    }
    await page.click("#new");
    server.plan = () => ({
      pieces: `${"|a".repeat(400)}|\n${"|-".repeat(400)}|\n${`${"|x".repeat(400)}|\n`.repeat(200)}\nThe *end*`.match(/[^]{1,4096}/g),
      pause: 5,
    });
    const began = Date.now();
    await say(page, "table");
    console.log(`chat: a table of 200 x 400: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    const cells = () => page.evaluate(() => document.querySelectorAll(".answer td").length);
    assert((await cells()) < 5000);
    assert.equal(await page.$eval(".answer .text > p", (one) => one.textContent), "The end", "what follows is shown");
    await page.evaluate(() => [...document.querySelectorAll(".answer button")].find((one) => one.textContent === "Show all").click());
    assert.equal(await cells(), 80_000);
    assert.equal(
      await page.evaluate(() =>
        [...document.querySelectorAll(".answer button")].some((one) => one.textContent === "Show all" && one.offsetParent !== null),
      ),
      false,
    );
    assert.deepEqual(unexpected(errors), []);
  }

  // ---- Refusals and their ways out.
  {
    const { server, context, page, errors } = await open({ key: "secret" });
    await page.waitForSelector("#ask[open]");
    await page.keyboard.type("wrong");
    await page.keyboard.press("Enter");
    await until("another question", () => page.$eval("#ask", (one) => one.open && document.getElementById("ask-input").value === ""));
    await page.keyboard.type("secret");
    await page.keyboard.press("Enter");
    await until("the models", () => page.evaluate(() => modules.page.state.models.length === 1));
    assert.equal(
      await page.evaluate(() => [sessionStorage.getItem("dikkat.chat.key"), JSON.stringify({ ...localStorage }).includes("secret")].join()),
      "secret,false",
    );
    server.plan = () => ({ status: 503, error: { message: "16 requests are already waiting", code: "overloaded" } });
    await say(page, "busy");
    assert.match(await page.$eval(".error", (one) => one.innerText), /busy[^]*16 requests/);
    server.plan = () => ({ pieces: ["Now."] });
    await page.evaluate(() => document.querySelector(".error button").click());
    await idle(page);
    assert.deepEqual(await answers(page), ["Now."]);
    assert.equal((await page.$$(".error, .which")).length, 0, "the refusal is no answer");

    await say(page, "second");
    server.plan = ({ body }) =>
      body.messages.length > 3
        ? { status: 400, error: { message: `too long ${HOSTILE}`, code: "context_length_exceeded" } }
        : { pieces: ["Fits."] };
    await say(page, "third");
    assert.match(await page.$eval(".error", (one) => one.innerText), /too long "><img/);
    await page.evaluate(() => document.querySelector(".error button").click());
    await idle(page);
    assert.equal((await answers(page)).at(-1), "Fits.");
    assert.deepEqual(
      server.requests.at(-1).body.messages.map(({ content }) => content),
      ["second", "Now.", "third"],
    );
    assert.deepEqual(await page.$$eval(".user", (all) => all.map((one) => one.querySelector(".cut") !== null)), [false, true, false]);

    // The server stops, and comes back.
    await server.stop();
    await say(page, "gone");
    assert.match(await page.$eval(".answer:last-child .error", (one) => one.innerText), /does not answer/);
    await server.start(server.port);
    server.plan = () => ({ pieces: ["Back."] });
    await page.evaluate(() => document.querySelector(".error button").click());
    await idle(page);
    assert.equal((await answers(page)).at(-1), "Back.");
    server.key = "other";
    await page.type("#prompt", "locked");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#ask[open]");
    await page.keyboard.type("other");
    await page.keyboard.press("Enter");
    await until("the answer", async () => (await answers(page)).length === 5 && (await answers(page)).at(-1) === "Back.");
    assert.equal(await page.evaluate(() => window.attacked), undefined);
    assert.deepEqual(unexpected(errors, /status of (401|400|503)|ERR_CONNECTION_REFUSED|models failed$/), []);
  }

  // ---- A model without a template continues texts.
  {
    const { server, page, errors } = await open();
    server.plan = ({ path, body }) =>
      path === "/v1/completions"
        ? { pieces: [{ content: ` <b>and${body.prompt.length}` }, { content: "\nso" }] }
        : { status: 400, error: { message: "this model takes no conversations", code: "no_chat_template" } };
    await say(page, "Once");
    await idle(page);
    assert.equal(server.requests[1].body.prompt, "Once");
    assert.equal(server.requests[1].body.max_tokens, 256);
    assert.deepEqual(await answers(page), [" <b>and4\nso"]);
    assert.match(await page.$eval("#notice", (one) => one.textContent), /no conversations/);
    await say(page, " then");
    assert.equal(server.requests[2].body.prompt, "Once <b>and4\nso then");
    await page.keyboard.press("Enter"); // nothing: continues
    await idle(page);
    assert.equal(server.requests[3].body.prompt, "Once <b>and4\nso then <b>and20\nso");
    assert.deepEqual(unexpected(errors, /status of 400/), []);
    const at_once = await open({ config: { chat: false } });
    at_once.server.plan = () => ({ pieces: [{ content: " x" }] });
    await say(at_once.page, "Begin");
    assert.equal(at_once.server.requests[0].path, "/v1/completions");
  }

  // ---- Texts are copied as they were written, also where the browser has no clipboard for pages (without TLS, from another machine).
  {
    const { server, context, page, errors } = await open();
    await context.overridePermissions(server.url.slice(0, -1), ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
    const code = `int x;\u202e // ${HOSTILE}\n`;
    server.plan = () => ({ pieces: ["<think>hm</think>**Code**:\n```c\n", code, "```"] });
    await say(page, "code");
    const copied = async (label) => {
      await page.evaluate(() => navigator.clipboard.writeText("before"));
      await page.click(`.answer [aria-label="${label}"]`);
      await until("the copy", async () => (await page.evaluate(() => navigator.clipboard.readText())) !== "before");
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.equal(await copied("Copy the code"), code);
    assert.equal(await copied("Copy the answer"), `**Code**:\n\`\`\`c\n${code}\`\`\``);
    await page.evaluate(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
    });
    await page.click(".answer [aria-label='Copy the code']");
    await until("the other copy", async () => (await page.evaluate(() => navigator.clipboard.readText())) === code);
    assert.deepEqual(unexpected(errors), []);
  }

  // ---- Ratings, and several models.
  {
    const { server, page, errors } = await open({
      models: [
        { id: "one", context_length: 100 },
        { id: `two ${HOSTILE}`, context_length: 200 },
      ],
    });
    server.plan = () => ({ pieces: [{ reasoning_content: "hm" }, "Yes."], usage: { prompt_tokens: 10, completion_tokens: 10 } });
    await page.select("#model", `two ${HOSTILE}`);
    await say(page, "Well?");
    assert.equal(server.requests[0].body.model, `two ${HOSTILE}`);
    assert.equal(await page.$eval("#room-text", (one) => one.textContent), "20 of 200 tokens");
    await page.click("[data-rating=good]");
    await until("a rating", () => server.feedback.length === 1);
    assert.deepEqual(server.feedback[0], {
      prompt: [{ role: "user", content: "Well?" }],
      completion: [{ role: "assistant", content: "Yes.", reasoning_content: "hm" }],
      label: true,
      model: `two ${HOSTILE}`,
    });
    await until("the mark", () => page.$eval("[data-rating=good]", (one) => one.getAttribute("aria-pressed") === "true"));
    await page.click("[aria-label='Another answer']");
    await idle(page);
    await page.click("[data-rating=bad]");
    await until("another rating", () => server.feedback.length === 2);
    assert.deepEqual(server.feedback[1].prompt, server.feedback[0].prompt);
    assert.equal(server.feedback[1].label, false);
    assert.deepEqual(unexpected(errors), []);
    const without = await open({ config: { feedback: false } });
    await say(without.page, "Well?");
    assert.equal(await without.page.$("[data-rating]"), null);
  }

  // ---- The keyboard reaches everything.
  {
    const { server, page, errors } = await open();
    const focused = () =>
      page.evaluate(
        () => document.activeElement.id || document.activeElement.getAttribute("aria-label") || document.activeElement.textContent,
      );
    const tabTo = async (wanted, key = "Tab") => {
      for (let i = 0; i < 60; ++i) {
        if ((await focused()).startsWith(wanted)) {
          const seen = await page.evaluate(() => {
            const style = getComputedStyle(
              document.activeElement.id === "prompt" ? document.getElementById("composer") : document.activeElement,
            );
            return style.outlineStyle !== "none" || style.boxShadow !== "none";
          });
          assert(seen, `${wanted}: the focus is visible`);
          return;
        }
        if (key === "Back") {
          await page.keyboard.down("Shift");
          await page.keyboard.press("Tab");
          await page.keyboard.up("Shift");
        } else {
          await page.keyboard.press(key);
        }
      }
      assert.fail(`Tab does not reach ${wanted}`);
    };
    assert.equal(await focused(), "prompt", "one can write at once");
    await page.keyboard.type("first");
    await page.keyboard.down("Shift");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Shift");
    await page.keyboard.type("line");
    server.plan = () => ({ pieces: ["```js\nlet x;\n```"], pause: 5 });
    await page.keyboard.press("Enter");
    await idle(page);
    assert.equal(server.requests[0].body.messages[0].content, "first\nline");
    assert.equal(await focused(), "prompt");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.type("!");
    await page.keyboard.press("Escape");
    assert.equal(server.requests.length, 1, "Escape leaves an edit");
    await page.focus("#prompt");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.type("!");
    await page.keyboard.press("Enter");
    await idle(page);
    assert.equal(server.requests[1].body.messages[0].content, "first\nline!");
    for (const wanted of [
      "Another answer",
      "Copy the answer",
      "Code",
      "Copy the code",
      "Edit and ask again",
      "theme",
      "open-settings",
      "new",
    ])
      await tabTo(wanted, "Back");
    await tabTo("open-settings");
    await page.keyboard.press("Enter");
    await tabTo("set-temperature");
    await page.keyboard.type("0");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => modules.page.state.settings.temperature), 0);
    await tabTo("theme", "Back");
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.keyboard.press("Enter");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), dark);
    await tabTo("Delete", "Back");
    await page.keyboard.press("Enter");
    assert.equal(await focused(), "ask-no", "the harmless button is first");
    await tabTo("ask-yes");
    await page.keyboard.press("Enter");
    await until("the deletion", () => page.$$eval("#list li", (all) => all.length === 0));
    server.plan = () => ({ pieces: Array(50).fill("x "), pause: 20 });
    await page.focus("#prompt");
    await page.keyboard.type("again");
    await page.keyboard.press("Enter");
    await until("a word", async () => /x/.test((await answers(page))[0] || ""));
    await tabTo("stop");
    await page.keyboard.press("Enter");
    await idle(page);
    assert.equal(await page.evaluate(() => modules.conversation.shownOf(modules.page.state.current.messages[1]).ending), "stopped");
    assert.deepEqual(unexpected(errors), []);
  }

  // ---- Screen readers, contrast, narrow screens.
  const axe = [createRequire(import.meta.url)].map((require) => {
    try {
      return readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
    } catch {
      return null;
    }
  })[0];
  if (axe === null) console.log("chat: axe-core is not installed, so its rules were not checked");
  const text =
    "# Head\n\nSome *words*, `code` and a [link](https://example.org/).\n\n> quoted\n\n```js\nlet x;\n```\n\n" +
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  - two\n\n\u202e";
  for (const [name, options] of [
    ["light", {}],
    ["dark", { scheme: "dark" }],
    ["narrow", { width: 320, height: 640 }],
    ["narrow-dark", { width: 320, height: 640, scheme: "dark" }],
  ]) {
    const { server, page, errors } = await open({
      options,
      models: [
        { id: "one", context_length: 100 },
        { id: "two", context_length: 200 },
      ],
    });
    const check = async (what) => {
      if (axe === null) return;
      await page.evaluate(`if (!window.axe) { ${axe} }`);
      const { violations, passes } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(
        violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`),
        [],
        `${name}, ${what}`,
      );
      assert(passes.length > 10);
    };
    await check("empty");
    server.plan = () => ({ pieces: [{ reasoning_content: "thinking" }, text], finish: "length" });
    await say(page, "Show everything");
    await page.click("summary");
    server.plan = () => ({ status: 500, error: { message: "broken" } });
    await say(page, "And an error");
    await check("a conversation");
    for (const selector of [
      ".bubble",
      ".text p",
      ".text a",
      ".text code",
      ".text blockquote",
      ".code-head span",
      ".actions .icon",
      ".inner",
      ".error strong",
      ".error button",
      ".ending",
      "#speed",
      "#room-text",
      ".control",
      "#list button",
      ".side-foot p",
    ]) {
      const found = await contrasts(page, selector);
      assert(
        found.length > 0 && Math.min(...found) >= 4.5,
        `${name}: the contrast of ${selector} is ${Math.min(...found).toFixed(2)}, expected 4.5`,
      );
    }
    await page.click(".user [aria-label='Edit and ask again']");
    await check("an edit");
    await page.keyboard.press("Escape");
    await page.click("#open-settings");
    await check("the settings");
    assert.equal(await page.$eval("#settings", (one) => one.scrollWidth <= one.clientWidth), true);
    await page.keyboard.press("Escape");
    if (options.width) {
      assert.equal(await page.$eval("#side", (one) => getComputedStyle(one).visibility), "hidden");
      await page.click("#open-side");
      await until("the list", () => page.$eval("#side", (one) => one.getBoundingClientRect().left === 0));
      await check("the list");
      await page.keyboard.press("Escape");
      await until("its end", () => page.$eval("#side", (one) => getComputedStyle(one).visibility === "hidden"));
      assert.equal(await page.evaluate(() => document.activeElement.id), "open-side");
    }
    await page.evaluate(() => document.getElementById("about").click());
    await check("about");
    await page.keyboard.press("Escape");
    assert.equal(
      await page.$eval("#log", (one) => [one.getAttribute("aria-live"), one.getAttribute("role"), one.getAttribute("aria-busy")].join()),
      "polite,log,false",
    );
    assert((await width(page)) <= 0, name);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    assert.deepEqual(unexpected(errors, /status of 500/), [], name);
  }

  for (const context of contexts) await context.close();
  for (const server of servers) await server.stop();
}
