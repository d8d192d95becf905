// Checks `dikkat serve` with many clients at once: eight streams of OpenAI's client and of LangChain's, each with the text that it has when
// it is alone; adapters that are chosen by the model's name; biases, penalties, tokens, and what /metrics counts afterwards.
//
//     node serve_many.mjs DIKKAT WORK_FOLDER REPOSITORY     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const base = join(work, "shared");
const train = (out, corpus, ...settings) =>
  execFileSync(program, [
    "train",
    "--corpus",
    corpus,
    "--out",
    out,
    "--quiet",
    "--set",
    "train.batch_size=8",
    "train.eval_tokens=128",
    ...settings,
  ]);
train(
  base,
  join(repository, "data/tales.txt"),
  "tokenizer.kind=bpe",
  "tokenizer.vocab_size=400",
  "model.n_layer=2",
  "model.n_embd=64",
  "model.block_size=192",
  "optim.learning_rate=0.01",
  "train.max_steps=60",
);
const runs = { first: join(work, "first"), second: join(work, "second") };
const tune = (name, sentence, ...settings) => {
  // on a text that is learned quickly
  writeFileSync(join(work, `${name}.txt`), sentence.repeat(2000));
  train(
    runs[name],
    join(work, `${name}.txt`),
    `train.init_from="${base}"`,
    "optim.learning_rate=0.02",
    "optim.warmup_steps=0",
    "train.max_steps=25",
    ...settings,
  );
};
tune("first", "The king sailed to a far island. ", "lora.rank=2");
tune("second", "A fox and a crow sat in an old tree.\n", "lora.rank=4", 'lora.targets=["attention"]');

/// A server in a process of its own.
async function serve(...words) {
  const server = spawn(program, ["serve", ...words, "--port", "0", "--json", "--api-key", "secret"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((done) => server.once("exit", done));
  const { url, base_url: baseURL } = JSON.parse(await new Promise((done) => createInterface(server.stdout).once("line", done)));
  const headers = { "Content-Type": "application/json", Authorization: "Bearer secret" };
  return {
    client: new OpenAI({ baseURL, apiKey: "secret", maxRetries: 0 }),
    langchain: (fields) => new ChatOpenAI({ apiKey: "secret", maxRetries: 0, configuration: { baseURL }, ...fields }),
    post: async (path, body) => {
      const response = await fetch(new URL(path, url), { method: "POST", headers, body: JSON.stringify(body) });
      assert.equal(response.status, 200, `${path} ${await response.clone().text()}`);
      return response.json();
    },
    get: (path) => fetch(new URL(path, url), { headers }),
    end: async () => {
      server.kill("SIGTERM");
      assert.equal(await ended, 0, "SIGTERM ends it in order");
    },
  };
}

const names = ["shared", "first", "second"];
const { client, langchain, post, get, end } = await serve(
  base,
  "--adapter",
  `first=${runs.first}`,
  "--adapter",
  `second=${runs.second}`,
  "--parallel",
  "8",
);
let generated = 0; // tokens, as the responses report them
const counted = (answer) => {
  generated += answer.usage.completion_tokens;
  return answer;
};
try {
  const models = await client.models.list();
  assert.deepEqual(
    models.data.map(({ id }) => id),
    names,
  );
  assert.deepEqual(
    models.data.map(({ parent }) => parent),
    [undefined, "shared", "shared"],
  );

  // Texts and conversations of all models, each alone.
  const likely = { temperature: 0.7, top_p: 0.8, max_tokens: 40 };
  const texts = ["The king said", "Once", "In the morning the", "She", "A ship", "They went", "The door", "And so"].map((prompt, i) => ({
    model: names[i % 3],
    prompt,
    ...likely,
    seed: 100 + i,
  }));
  const chats = texts.map(({ prompt, ...fields }) => ({ ...fields, messages: [{ role: "user", content: `${prompt}?` }] }));
  const alone = [],
    chatsAlone = [];
  for (const request of texts) alone.push(counted(await client.completions.create(request)).choices[0].text);
  for (const request of chats) chatsAlone.push(counted(await client.chat.completions.create(request)).choices[0].message.content);

  // Eight streams at once have the same texts.
  const streamed = async (request) => {
    let text = "";
    for await (const part of await client.completions.create({ ...request, stream: true, stream_options: { include_usage: true } })) {
      text += part.choices[0]?.text ?? "";
      generated += part.usage?.completion_tokens ?? 0;
    }
    return text;
  };
  assert.deepEqual(await Promise.all(texts.map(streamed)), alone);
  const chatted = async (request) => {
    const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
    return counted(await stream.finalChatCompletion()).choices[0].message.content;
  };
  assert.deepEqual(await Promise.all([...chats, ...chats].map(chatted)), [...chatsAlone, ...chatsAlone]);

  // LangChain: streams, and a batch.
  const model = ({ model: name, temperature, top_p: topP, max_tokens: maxTokens, seed }, more) =>
    langchain({ model: name, temperature, topP, maxTokens, modelKwargs: { seed }, ...more });
  const contents = chats.map(({ messages }) => [["user", messages[0].content]]);
  const chained = async (request, i) => {
    let text = "",
      usage;
    for await (const chunk of await model(request).stream(contents[i])) {
      text += chunk.content;
      usage = chunk.usage_metadata ?? usage;
    }
    generated += usage.output_tokens;
    return text;
  };
  assert.deepEqual(await Promise.all(chats.map(chained)), chatsAlone);
  const batch = await model(chats[0]).batch(Array(8).fill(contents[0]), { maxConcurrency: 8 });
  for (const { content, usage_metadata: usage } of batch) {
    assert.equal(content, chatsAlone[0]);
    generated += usage.output_tokens;
  }

  // Tokens.
  const { tokens } = await post("/tokenize", { content: "king" });
  assert.equal((await post("/detokenize", { tokens })).content, "king");
  const pieces = await post("/tokenize", { content: "The king", with_pieces: true });
  assert.equal(pieces.tokens.map(({ piece }) => piece).join(""), "The king");
  const { prompt } = await post("/apply-template", { messages: chats[0].messages });
  assert(prompt.includes(chats[0].messages[0].content));
  const { count } = await post("/tokenize", { messages: chats[0].messages });
  assert.equal(count, counted(await client.chat.completions.create({ ...chats[0], max_tokens: 1 })).usage.prompt_tokens);

  // Biases and penalties.
  const [forced] = pieces.tokens.map(({ id }) => id);
  const biased = counted(await client.completions.create({ ...texts[0], max_tokens: 6, logit_bias: { [forced]: 100 } }));
  assert.equal(biased.choices[0].text, pieces.tokens[0].piece.repeat(6));
  const banned = counted(await client.completions.create({ ...texts[0], logit_bias: { [forced]: -100 }, logprobs: 0 }));
  assert(!banned.choices[0].logprobs.tokens.includes(pieces.tokens[0].piece));
  const chainedBias = await model({ ...chats[0], max_tokens: 3 }, { logitBias: { [forced]: 100 } }).invoke(contents[0]);
  assert.equal(chainedBias.content, pieces.tokens[0].piece.repeat(3));
  generated += chainedBias.usage_metadata.output_tokens;
  const distinct = async (fields) => {
    const answer = counted(
      await client.completions.create({ model: "shared", prompt: "The", temperature: 0, max_tokens: 60, logprobs: 0, ...fields }),
    );
    return new Set(answer.choices[0].logprobs.tokens).size;
  };
  const plain = await distinct({});
  assert((await distinct({ frequency_penalty: 2 })) > plain);
  assert((await distinct({ presence_penalty: 2 })) > plain);

  // Adapters: as each run by itself, to rounding, and not as each other.
  const request = { prompt: "The king said", temperature: 0, max_tokens: 20, logprobs: 1 };
  const scores = async (from, name) => (await from.completions.create({ ...request, model: name })).choices[0].logprobs.token_logprobs;
  const found = {};
  for (const name of names) {
    found[name] = await scores(client, name);
    generated += 20;
  }
  assert.notDeepEqual(found.first, found.second);
  assert.notDeepEqual(found.first, found.shared);
  for (const [name, run] of Object.entries(runs)) {
    const own = await serve(run, "--name", name);
    const expected = await scores(own.client, name);
    expected.forEach((score, i) => assert(Math.abs(score - found[name][i]) < 1e-3, `${name}: ${score} ${found[name][i]}`));
    await own.end();
  }

  // What the metrics have counted.
  const response = await get("/metrics");
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const metrics = Object.fromEntries(
    (await response.text())
      .split("\n")
      .filter((line) => line && !line.startsWith("#"))
      .map((line) => {
        const [, name, value] = /^([a-z_]+(?:\{[^}]*\})?) ([0-9.e+-]+)$/.exec(line) ?? assert.fail(line);
        return [name, Number(value)];
      }),
  );
  assert.equal(metrics.dikkat_generated_tokens_total, generated);
  assert.equal(metrics.dikkat_requests_running, 0);
  assert.equal(metrics.dikkat_requests_waiting, 0);
  const answers = metrics['dikkat_request_duration_seconds_bucket{le="+Inf"}'];
  assert.equal(answers, metrics.dikkat_time_to_first_token_seconds_count);
  assert(metrics.dikkat_prompt_tokens_total > answers);
  assert(metrics.process_resident_memory_bytes > 1e6);
  assert(metrics['dikkat_http_requests_total{endpoint="/v1/chat/completions",status="200"}'] >= 32);
  console.log(
    `serve: ${answers} answers for OpenAI's and LangChain's clients, up to sixteen at once, each as when it is alone; ` +
      `three models, biases, penalties, metrics`,
  );
} finally {
  await end();
}
