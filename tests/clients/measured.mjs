// Checks `dikkat serve` with the requests that EleutherAI's lm-evaluation-harness sends (local-completions with the remote tokenizer): a small
// model that was trained on children's stories, and a model of GPT-2's shape with random weights. Scores of choices must be those of PyTorch
// in float64, the chosen answers those of `dikkat eval --tasks`, and the perplexity that of `dikkat eval`.
//
//     node measured.mjs DIKKAT WORK_FOLDER REPOSITORY DATA_FOLDER [QUESTIONS]     (scripts/clients.sh does)
//
// DATA_FOLDER has the model, stories260k, and GPT-2's vocabulary. With QUESTIONS, also compares the speed with that of `dikkat eval --tasks` on so many questions.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import { Dikkat } from "./dikkat.mjs";

const [program, work, repository, data] = process.argv.slice(2, 6).map((path) => resolve(path));
const timed = Number(process.argv[6] ?? 0);
const dikkat = new Dikkat(program);
const sum = (list) => list.reduce((a, b) => a + b, 0);
const python = (script, ...words) =>
  execFileSync("/usr/bin/python3", [join(repository, "tests/clients", script), ...words], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    env: { ...process.env, OMP_WAIT_POLICY: "passive" }, // PyTorch's threads would otherwise take the time of other clients' tests
  });

/// A server in a process of its own, and what a harness asks it. Counts the requests and their answers.
async function serve(model, ...words) {
  const server = spawn(program, ["serve", model, "--name", "measured", "--port", "0", "--json", ...words], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise((done) => server.once("exit", done));
  const { url } = JSON.parse(await new Promise((done) => createInterface(server.stdout).once("line", done)));
  const asked = { requests: 0, answers: 0 };
  const post = async (path, body) => {
    ++asked.requests;
    const response = await fetch(new URL(path, url), {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: "Bearer " },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    ++asked.answers;
    return response.ok ? answer : { status: response.status, ...answer.error };
  };
  return {
    asked,
    post,
    info: async () => (await fetch(new URL("/tokenizer_info", url))).json(),
    encode: async (prompt, special = false) => (await post("/tokenize", { prompt, add_special_tokens: special })).tokens,
    decode: async (tokens) => (await post("/detokenize", { tokens })).prompt,
    end: async () => {
      server.kill("SIGTERM");
      assert.equal(await ended, 0, "SIGTERM ends it in order");
    },
  };
}

/// Sends requests, so many at once, with so many items each. Returns the results of all items, in their order.
async function in_batches(items, { concurrent, batch }, ask) {
  const results = [];
  let next = 0;
  const client = async () => {
    for (let at = next; at < items.length; at = next) {
      next += batch;
      const found = await ask(items.slice(at, at + batch));
      found.forEach((one, i) => (results[at + i] = one));
    }
  };
  await Promise.all(Array.from({ length: concurrent }, client));
  return results;
}

/// Scores a batch of {context, continuation}, lists of ids, as `loglikelihood` does: {sum, greedy, choice}.
async function loglikelihood(server, batch, more = {}) {
  const { choices } = await server.post("/v1/completions", {
    model: "measured",
    prompt: batch.map(({ context, continuation }) => [...context, ...continuation]),
    temperature: 0,
    max_tokens: 1,
    logprobs: 1,
    seed: 1234,
    echo: true,
    ...more,
  });
  assert.equal(choices.length, batch.length, "one choice for each prompt");
  return choices
    .sort((a, b) => a.index - b.index)
    .map((choice, i) => {
      const { tokens, token_logprobs: own, top_logprobs: top, text_offset: offsets } = choice.logprobs;
      const size = batch[i].context.length + batch[i].continuation.length;
      for (const list of [tokens, own, top, offsets]) assert.equal(list.length, size + 1);
      assert(own[0] === null && top[0] === null, "nothing precedes the first token");
      const scores = own.slice(batch[i].context.length, -1);
      const best = top.slice(batch[i].context.length, -1).map((one) => Math.max(...Object.values(one)));
      return { sum: sum(scores), greedy: scores.every((score, j) => score === best[j]), choice: { ...choice, index: 0 } };
    });
}

const kWays = [
  { concurrent: 1, batch: 1 },
  { concurrent: 1, batch: 8 },
  { concurrent: 8, batch: 1 },
  { concurrent: 8, batch: 8 },
];

const kMeasures = { choices: ({ sum }) => sum, choices_per_byte: ({ sum }, { choice }) => sum / Buffer.byteLength(choice) };

/// Multiple choice, by these measures of eval: returns what was found.
async function check_choices(server, model, questions, measures) {
  // The ids of eval --tasks: a prompt with the token that begins every text, and a choice by itself.
  const requests = [];
  for (const [question, { prompt, choices }] of questions.entries()) {
    const context = await server.encode(prompt, true);
    for (const choice of choices) requests.push({ question, choice, context, continuation: await server.encode(choice) });
  }
  requests.sort((a, b) => b.context.length + b.continuation.length - a.context.length - a.continuation.length); // as the harness

  // All ways of asking have the same answers, to the last bit.
  let scores;
  for (const way of kWays) {
    const found = await in_batches(requests, way, (batch) => loglikelihood(server, batch));
    scores ??= found;
    assert.deepEqual(found, scores, `${way.concurrent} at once, ${way.batch} in each`);
  }

  // The sums are PyTorch's.
  const file = join(work, "texts.json");
  writeFileSync(file, JSON.stringify(requests.map(({ context, continuation }) => [...context, ...continuation])));
  const torch = JSON.parse(python("torch_scores.py", model, file));
  let error = 0;
  requests.forEach(({ context }, i) => {
    const expected = sum(torch[i].log_probabilities.slice(context.length - 1));
    error = Math.max(error, Math.abs(scores[i].sum - expected) / Math.max(1, Math.abs(expected)));
    assert.equal(scores[i].greedy, torch[i].likeliest.slice(context.length - 1).every(Boolean), "greedy");
  });
  assert(error < 1e-5, `sums differ by ${error}`);

  // The chosen answers are those of eval: it finds that all are right.
  for (const measure of measures) {
    const answers = questions.map(({ prompt, choices }, question) => {
      const values = choices.map((choice) => {
        const i = requests.findIndex((one) => one.question === question && one.choice === choice);
        return kMeasures[measure](scores[i], requests[i]);
      });
      return { prompt, choices, answer: values.indexOf(Math.max(...values)) };
    });
    const tasks = join(work, "tasks.jsonl");
    writeFileSync(tasks, answers.map((one) => JSON.stringify(one) + "\n").join(""));
    const result = JSON.parse(dikkat.run("eval", model, "--tasks", tasks, "--json"))[measure];
    assert.equal(result.right, questions.length, `${measure}: eval chooses ${result.right} of our ${questions.length}`);
  }
  return `${requests.length} choices in ${kWays.length} ways, sums differ by ${error.toExponential(1)}`;
}

/// Rolling perplexity: windows with one token of context, of at most `window` tokens, beside PyTorch.
async function check_rolling(server, model, text, window, begin) {
  const ids = await server.encode(text);
  const windows = [];
  for (let at = 0; at < ids.length; at += window)
    windows.push({ context: [at === 0 ? begin : ids[at - 1]], continuation: ids.slice(at, at + window) });
  const scores = await in_batches(windows, { concurrent: 8, batch: 1 }, (batch) => loglikelihood(server, batch));
  const file = join(work, "texts.json");
  writeFileSync(file, JSON.stringify(windows.map(({ context, continuation }) => [...context, ...continuation])));
  const expected = JSON.parse(python("torch_scores.py", model, file)).map((one) => sum(one.log_probabilities));
  const found = -sum(scores.map((one) => one.sum)) / ids.length;
  const error = Math.abs(found + sum(expected) / ids.length);
  assert(error < 1e-5, `the loss of windows differs by ${error}`);
  return `the loss of ${windows.length} rolling windows to ${error.toExponential(1)}`;
}

/// The perplexity of a text of `count` tokens, which is that of eval. Eval does not predict the first token.
async function check_perplexity(server, model, text, count) {
  const short = await server.decode((await server.encode(text)).slice(0, count));
  const short_ids = await server.encode(short);
  const path = join(work, "text.txt");
  writeFileSync(path, short);
  const ours = JSON.parse(dikkat.run("eval", model, "--corpus", path, "--json"));
  const [whole] = await loglikelihood(server, [{ context: short_ids.slice(0, 1), continuation: short_ids.slice(1) }]);
  const own = whole.choice.logprobs.token_logprobs.slice(1, -1);
  assert.equal(ours.tokens, own.length, "eval predicts the same tokens");
  const perplexity = Math.exp(-sum(own) / own.length);
  assert(Math.abs(perplexity / ours.perplexity - 1) < 1e-5, `perplexity ${perplexity}, eval has ${ours.perplexity}`);
  return `perplexity ${perplexity.toFixed(4)} as eval's`;
}

/// Generation until a stop string, with prompts as ids and as texts.
async function check_generation(server, model, prompts, until, eos) {
  const stop = [...until, ...(eos === null ? [] : [eos])];
  const fields = { model: "measured", max_tokens: 24, temperature: 0, stop, seed: 1234 };
  const lists = [];
  for (const prompt of prompts) lists.push(await server.encode(prompt, true));
  const texts = async (prompt) => (await server.post("/v1/completions", { prompt, ...fields })).choices.map(({ text }) => text);
  const found = await texts(lists);
  assert.deepEqual(await texts(prompts), found, "texts are read as their ids");
  assert.deepEqual(await in_batches(lists, { concurrent: 8, batch: 1 }, texts), found);
  for (const [i, prompt] of prompts.entries()) {
    const sample = ["sample", model, "--prompt", prompt, "--temperature", "0", "--max-new-tokens", "24", "--json"];
    let expected = JSON.parse(dikkat.run(...sample)).samples[0].text;
    for (const one of stop) expected = expected.split(one)[0];
    assert.equal(found[i], expected, `${prompt} as sample continues it`);
  }
  return `${prompts.length} greedy texts as sample's`;
}

/// A prompt that ends its text has an entry for the end token, and the same scores as with any other token after it.
async function check_end(server, prompt, end) {
  const request = [{ context: prompt.slice(0, 1), continuation: prompt.slice(1) }];
  const [free] = await loglikelihood(server, request);
  const [ended] = await loglikelihood(server, request, { logit_bias: { [end]: 100 } });
  assert.equal(ended.choice.finish_reason, "stop");
  assert.equal(ended.choice.logprobs.tokens.at(-1), await server.decode([end]));
  assert.equal(ended.sum, free.sum);
}

/// What cannot be scored is refused, and named.
async function check_refusals(server, context, vocabulary) {
  const refused = async (fields, ...parts) => {
    const { status, message } = await server.post("/v1/completions", { prompt: "a", max_tokens: 1, logprobs: 1, echo: true, ...fields });
    assert.equal(status, 400);
    for (const part of parts) assert(message.includes(part), `${message}: no ${part}`);
  };
  await refused({ prompt: [[1], [2, vocabulary]] }, "prompt[1][1]", `${vocabulary}`);
  await refused({ prompt: [[1], []] }, "prompt[1]");
  await refused({ prompt: [Array(context + 1).fill(1)] }, `${context + 1}`, `${context}`);
  await refused({ logprobs: 21 }, "logprobs", "21");
}

/// Compares the speed of scoring with that of eval, in tokens per second.
async function check_speed(server, model, questions) {
  const tasks = join(work, "timed.jsonl");
  const seconds = async (action) => {
    const began = performance.now();
    await action();
    return (performance.now() - began) / 1000;
  };
  const requests = [];
  for (const { prompt, choices } of questions) {
    const context = await server.encode(prompt, true);
    for (const choice of choices) requests.push({ context, continuation: await server.encode(choice) });
  }
  const tokens = requests.reduce((count, { context, continuation }) => count + context.length + continuation.length, 0);
  // Eval also loads the model, which half of the questions shows.
  const eval_seconds = async (count) => {
    writeFileSync(
      tasks,
      questions
        .slice(0, count)
        .map((one) => JSON.stringify({ ...one, answer: 0 }) + "\n")
        .join(""),
    );
    return seconds(() => dikkat.run("eval", model, "--tasks", tasks, "--json"));
  };
  const half = await eval_seconds(questions.length / 2);
  const by_eval = tokens / 2 / ((await eval_seconds(questions.length)) - half);
  const report = [`eval --tasks ${by_eval.toFixed(0)} tokens/s`];
  for (const way of kWays) {
    const rate = tokens / (await seconds(() => in_batches(requests, way, (batch) => loglikelihood(server, batch))));
    report.push(`${way.concurrent} x ${way.batch}: ${rate.toFixed(0)} (${(rate / by_eval).toFixed(2)})`);
  }
  console.log(`measured: ${report.join(", ")}`);
}

/// Questions with the choices of how a sentence goes on, cut from a text.
function questions_of(text, count, words) {
  const all = text.split(/\s+/).filter(Boolean);
  const cut = (at, size) => Array.from({ length: size }, (_, i) => all[(at + i) % all.length]).join(" ");
  return Array.from({ length: count }, (_, i) => ({
    prompt: cut(37 * i, words + (i % 7)),
    choices: [0, 211, 503, 769].map((more, j) => " " + cut(37 * i + words + (i % 7) + more, 2 + ((i + j) % 4))),
  }));
}

const stories = join(data, "stories260k");
const vocabulary = join(data, "gpt2");
const tales = readFileSync(join(repository, "data/tales.txt"), "utf8");

if (existsSync(stories)) {
  const text = JSON.parse(readFileSync(join(stories, "golden.json"), "utf8")).text;
  const server = await serve(stories, "--parallel", "8");
  try {
    const info = await server.info();
    assert.deepEqual([info.bos_token, info.eos_token], ["<s>", "</s>"]);
    const [bos] = await server.encode(info.bos_token);
    assert.deepEqual([bos, ...(await server.encode(info.eos_token))], [1, 2], "names of special tokens have their ids");
    const report = [
      await check_choices(server, stories, questions_of(text + " " + tales.slice(0, 3000), 12, 40), Object.keys(kMeasures)),
      await check_rolling(server, stories, text.repeat(3), 300, bos),
      await check_perplexity(server, stories, text.repeat(3), 400),
      await check_generation(server, stories, ["Once upon a time", "Lily and Tom", "The dog was"], [".", "\n\n"], info.eos_token),
    ];
    await check_end(server, await server.encode("Once upon a time", true), 2);
    await check_refusals(server, 512, 512);
    assert.equal(server.asked.answers, server.asked.requests);
    console.log(`measured, stories260k: ${report.join("; ")}; all ${server.asked.answers} requests answered`);
  } finally {
    await server.end();
  }
} else {
  console.log(`measured: ${stories} is missing, no trained model was measured`);
}

if (existsSync(vocabulary)) {
  const model = join(work, "gpt2");
  python("random_gpt2.py", model, vocabulary);
  const server = await serve(model, "--parallel", "8");
  try {
    const info = await server.info();
    assert.equal(info.eos_token, "<|endoftext|>");
    assert.deepEqual(await server.encode(info.eos_token), [50256]);
    const report = [
      await check_choices(server, model, questions_of(tales, 2, 30), ["choices"]),
      await check_perplexity(server, model, tales.slice(0, 600), 100),
    ];
    await check_refusals(server, 1024, 50257);
    assert.equal(server.asked.answers, server.asked.requests);
    console.log(`measured, GPT-2's shape: ${report.join("; ")}; all ${server.asked.answers} requests answered`);
    if (timed > 0) {
      for (const words of [30, 70, 300]) await check_speed(server, model, questions_of(tales, timed, words));
    }
  } finally {
    await server.end();
  }
} else {
  console.log(`measured: ${vocabulary} is missing, no model of GPT-2's shape was measured`);
}
