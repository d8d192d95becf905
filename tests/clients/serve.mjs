// Checks `dikkat serve` with OpenAI's own client for JavaScript: texts, conversations, streams, log probabilities, stop strings, seeds, and
// the errors that it knows by type.
//
//     node serve.mjs DIKKAT WORK_FOLDER REPOSITORY     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join, resolve } from "node:path";
import OpenAI from "openai";

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const run = join(work, "served");
execFileSync(program, ["train", "--corpus", join(repository, "data/tales.txt"), "--out", run, "--quiet", "--set", "tokenizer.kind=bpe", "tokenizer.vocab_size=400",
  "model.n_layer=2", "model.n_embd=64", "model.block_size=128", "optim.learning_rate=0.01", "train.batch_size=8", "train.max_steps=60", "train.eval_tokens=128"]);

const server = spawn(program, ["serve", run, "--port", "0", "--json", "--api-key", "secret"], { stdio: ["ignore", "pipe", "ignore"] });
const ended = new Promise((done) => server.once("exit", done));
try {
  const { base_url: baseURL, model } = JSON.parse(await new Promise((done) => createInterface(server.stdout).once("line", done)));
  assert.equal(model, "served");
  const client = new OpenAI({ baseURL, apiKey: "secret", maxRetries: 0 });
  const likely = { temperature: 0.7, top_p: 0.8 };  // so that a model that has learnt little writes characters that are whole
  const prompt = "The king said", messages = [{ role: "system", content: "Be brief." }, { role: "user", content: [{ type: "text", text: "Who are you?" }] }];

  const models = await client.models.list();
  assert.deepEqual(models.data.map(({ id }) => id), [model]);
  assert.equal((await client.models.retrieve(model)).owned_by, "dikkat");

  // A text, which its seed gives again.
  const text = await client.completions.create({ model, prompt, ...likely, max_tokens: 30, seed: 5, logprobs: 3 });
  const [choice] = text.choices;
  assert.equal(choice.finish_reason, "length");
  assert.equal(text.usage.completion_tokens, 30);
  assert.equal(text.usage.total_tokens, text.usage.prompt_tokens + 30);
  assert.equal((await client.completions.create({ model, prompt, ...likely, max_tokens: 30, seed: 5 })).choices[0].text, choice.text);
  assert.notEqual((await client.completions.create({ model, prompt, ...likely, max_tokens: 30, seed: 6 })).choices[0].text, choice.text);
  const { tokens, token_logprobs, top_logprobs, text_offset } = choice.logprobs;
  assert.equal(tokens.join(""), choice.text);
  tokens.forEach((token, i) => {
    assert.equal(choice.text.slice(text_offset[i], text_offset[i] + token.length), token);
    assert.equal(top_logprobs[i][token], token_logprobs[i]);
    assert(Object.values(top_logprobs[i]).reduce((sum, value) => sum + Math.exp(value), 0) <= 1 + 1e-9, "probabilities");
  });

  // The text as a stream.
  let streamed = "", usage;
  for await (const part of await client.completions.create({ model, prompt, ...likely, max_tokens: 30, seed: 5, stream: true, stream_options: { include_usage: true } })) {
    streamed += part.choices[0]?.text ?? "";
    usage = part.usage ?? usage;
  }
  assert.equal(streamed, choice.text);
  assert.deepEqual(usage, text.usage);

  // A stop string.
  const stop = choice.text.slice(12, 15);
  const stopped = await client.completions.create({ model, prompt, ...likely, max_tokens: 30, seed: 5, stop: [stop] });
  assert.equal(stopped.choices[0].text, choice.text.slice(0, choice.text.indexOf(stop)));
  assert.equal(stopped.choices[0].finish_reason, "stop");

  // A conversation, whole and streamed.
  const talk = { model, messages, ...likely, max_completion_tokens: 20, seed: 9, logprobs: true, top_logprobs: 2, n: 2 };
  const chat = await client.chat.completions.create(talk);
  assert.equal(chat.choices.length, 2);
  assert.equal(chat.choices[0].message.role, "assistant");
  assert.equal(chat.choices[0].logprobs.content.map(({ token }) => token).join(""), chat.choices[0].message.content);
  assert.equal(chat.choices[0].logprobs.content[0].top_logprobs.length, 2);
  const stream = client.chat.completions.stream({ ...talk, stream_options: { include_usage: true } });
  const whole = await stream.finalChatCompletion();
  for (const i of [0, 1]) {
    assert.equal(whole.choices[i].message.content, chat.choices[i].message.content);
    assert.equal(whole.choices[i].finish_reason, chat.choices[i].finish_reason);
    assert.deepEqual(whole.choices[i].logprobs.content, chat.choices[i].logprobs.content);
  }
  assert.deepEqual(whole.usage, chat.usage);

  // A client leaves: the next one gets its turn.
  const left = await client.completions.create({ model, prompt, max_tokens: 100, stream: true });
  for await (const part of left) {
    assert(part.choices);
    break;
  }
  assert.equal((await client.completions.create({ model, prompt, max_tokens: 1 })).usage.completion_tokens, 1);

  // Errors, by their types.
  const refused = (promise, type, matches) => assert.rejects(promise, (error) => {
    assert(error instanceof type, `${error} is not a ${type.name}`);
    assert.deepEqual({ ...error, ...matches }, { ...error }, `${error}`);
    return true;
  });
  const long = prompt.repeat(60);
  await refused(client.completions.create({ model: "gpt-4o", prompt }), OpenAI.NotFoundError, { status: 404, code: "model_not_found", param: "model" });
  await refused(client.completions.create({ model, prompt: long }), OpenAI.BadRequestError, { status: 400, code: "context_length_exceeded", param: "prompt" });
  await refused(client.completions.create({ model, prompt, temperature: 3 }), OpenAI.BadRequestError, { param: "temperature" });
  await refused(client.completions.create({ model, prompt, stream: true, n: 99 }), OpenAI.BadRequestError, { param: "n" });
  await refused(client.chat.completions.create({ model, messages, tools: [{ type: "function", function: { name: "f" } }] }), OpenAI.BadRequestError, { param: "tools" });
  await refused(client.chat.completions.create({ model, messages: [{ role: "user", content: "", tool_call_id: "1" }] }), OpenAI.BadRequestError,
    { param: "messages[0].tool_call_id" });
  await refused(client.embeddings.create({ model, input: "a" }), OpenAI.BadRequestError, { status: 400, code: "embeddings_not_supported" });
  await refused(new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 }).models.list(), OpenAI.AuthenticationError, { status: 401, code: "invalid_api_key" });
  console.log("serve: OpenAI's client reads texts, conversations, streams and log probabilities, and knows eight errors by their types");
} finally {
  server.kill("SIGINT");
  const late = setTimeout(() => server.kill("SIGKILL"), 10_000);
  assert.equal(await ended, 0, "Ctrl-C ends it in order");
  clearTimeout(late);
}
