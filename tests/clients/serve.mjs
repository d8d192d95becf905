// Checks `dikkat serve` with OpenAI's own client for JavaScript: texts, conversations, streams, log probabilities, stop strings, seeds,
// JSON under a schema, calls of tools, reasoning, and the errors that it knows by type.
//
//     node serve.mjs DIKKAT WORK_FOLDER REPOSITORY     (scripts/clients.sh does)
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import OpenAI from "openai";

const [program, work, repository] = process.argv.slice(2).map((path) => resolve(path));
const run = join(work, "served");
execFileSync(program, [
  "train",
  "--corpus",
  join(repository, "data/tales.txt"),
  "--out",
  run,
  "--quiet",
  "--set",
  "tokenizer.kind=bpe",
  "tokenizer.vocab_size=400",
  "model.n_layer=2",
  "model.n_embd=64",
  "model.block_size=256",
  "optim.learning_rate=0.01",
  "train.batch_size=8",
  "train.max_steps=60",
  "train.eval_tokens=128",
]);

/// The counts of a response's usage that do not depend on what was asked before.
const counts = ({ prompt_tokens, completion_tokens, total_tokens }) => ({ prompt_tokens, completion_tokens, total_tokens });

/// Starts a server, hands what it prints to `use`, and ends it in order.
async function serving(options, use) {
  const server = spawn(program, ["serve", run, "--port", "0", "--json", ...options], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((done) => server.once("exit", done));
  try {
    await use(JSON.parse(await new Promise((done) => createInterface(server.stdout).once("line", done))));
  } finally {
    server.kill("SIGINT");
    const late = setTimeout(() => server.kill("SIGKILL"), 10_000);
    assert.equal(await ended, 0, "Ctrl-C ends it in order");
    clearTimeout(late);
  }
}

await serving(["--api-key", "secret"], async ({ base_url: baseURL, model }) => {
  assert.equal(model, "served");
  const client = new OpenAI({ baseURL, apiKey: "secret", maxRetries: 0 });
  const likely = { temperature: 0.7, top_p: 0.8 }; // so that a model that has learned little writes characters that are whole
  const prompt = "The king said",
    messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Who are you?" }] },
    ];

  const models = await client.models.list();
  assert.deepEqual(
    models.data.map(({ id }) => id),
    [model],
  );
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
  let streamed = "",
    usage;
  for await (const part of await client.completions.create({
    model,
    prompt,
    ...likely,
    max_tokens: 30,
    seed: 5,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    streamed += part.choices[0]?.text ?? "";
    usage = part.usage ?? usage;
  }
  assert.equal(streamed, choice.text);
  assert.deepEqual(counts(usage), counts(text.usage));

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
  assert.deepEqual(counts(whole.usage), counts(chat.usage));

  // Answers in a form. The model has learned none of them.
  const schema = {
    type: "object",
    properties: {
      city: { type: "string", maxLength: 12 },
      days: { type: "integer", minimum: 1, maximum: 31 },
      sights: { type: "array", items: { enum: ["tower", "bridge"] }, maxItems: 3 },
      next: { anyOf: [{ $ref: "#" }, { type: "null" }] },
    },
    required: ["city", "days", "sights", "next"],
    additionalProperties: false,
  };
  const isPlan = (value) =>
    typeof value.city === "string" &&
    [...value.city].length <= 12 &&
    Number.isInteger(value.days) &&
    value.days >= 1 &&
    value.days <= 31 &&
    value.sights.length <= 3 &&
    value.sights.every((sight) => schema.properties.sights.items.enum.includes(sight)) &&
    Object.keys(value).length === 4 &&
    (value.next === null || isPlan(value.next));
  let complete = 0;
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const form = {
      model,
      messages,
      ...likely,
      seed,
      max_completion_tokens: 180,
      response_format: { type: "json_schema", json_schema: { name: "plan", schema, strict: true } },
    };
    const answer = (await client.chat.completions.create(form)).choices[0];
    if (answer.finish_reason === "stop") {
      ++complete;
      assert(isPlan(JSON.parse(answer.message.content)), answer.message.content);
      const { parsed } = (await client.chat.completions.stream(form).finalChatCompletion()).choices[0].message;
      assert(parsed === null || isPlan(parsed));
    }
    const date = await client.completions.create({ model, prompt, seed, max_tokens: 20, regex: "[12]\\d{3}-(0[1-9]|1[0-2])" });
    assert.match(date.choices[0].text, /^[12]\d{3}-(0[1-9]|1[0-2])$/);
  }
  assert(complete >= 3, `${complete} of 8 answers were complete`);

  // A client leaves: the next one gets its turn.
  const left = await client.completions.create({ model, prompt, max_tokens: 100, stream: true });
  for await (const part of left) {
    assert(part.choices);
    break;
  }
  assert.equal((await client.completions.create({ model, prompt, max_tokens: 1 })).usage.completion_tokens, 1);

  // Errors, by their types.
  const refused = (promise, type, matches) =>
    assert.rejects(promise, (error) => {
      assert(error instanceof type, `${error} is not a ${type.name}`);
      assert.deepEqual({ ...error, ...matches }, { ...error }, `${error}`);
      return true;
    });
  const long = prompt.repeat(150);
  await refused(client.completions.create({ model: "gpt-4o", prompt }), OpenAI.NotFoundError, {
    status: 404,
    code: "model_not_found",
    param: "model",
  });
  await refused(client.completions.create({ model, prompt: long }), OpenAI.BadRequestError, {
    status: 400,
    code: "context_length_exceeded",
    param: "prompt",
  });
  await refused(client.completions.create({ model, prompt, temperature: 1001 }), OpenAI.BadRequestError, { param: "temperature" });
  await refused(client.completions.create({ model, prompt, stream: true, n: 99 }), OpenAI.BadRequestError, { param: "n" });
  await refused(
    client.chat.completions.create({ model, messages, tools: [{ type: "function", function: { name: "f" } }] }),
    OpenAI.BadRequestError,
    { param: "tools" },
  );
  await refused(
    client.chat.completions.create({
      model,
      messages,
      response_format: { type: "json_schema", json_schema: { name: "n", schema: { type: "integer", multipleOf: 3 } } },
    }),
    OpenAI.BadRequestError,
    { param: "response_format.json_schema.schema.multipleOf" },
  );
  await refused(
    client.chat.completions.create({ model, messages: [{ role: "user", content: "", tool_call_id: "1" }] }),
    OpenAI.BadRequestError,
    { param: "messages[0].tool_call_id" },
  );
  await refused(client.embeddings.create({ model, input: [] }), OpenAI.BadRequestError, { param: "input" });
  // The client asks for base64 unless it is told otherwise, and decodes it.
  const vectors = async (more) =>
    (await client.embeddings.create({ model, input: ["a", "the lamp"], ...more })).data.map(({ embedding }) =>
      Array.from(embedding, Math.fround),
    );
  const [decoded, given] = [await vectors({}), await vectors({ encoding_format: "float" })];
  assert.deepEqual(decoded, given, "both encodings have the same numbers");
  assert(decoded.length === 2 && decoded[0].length > 1);
  for (const vector of decoded) assert(Math.abs(Math.hypot(...vector) - 1) < 1e-6, "the length is 1");
  await refused(new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 }).models.list(), OpenAI.AuthenticationError, {
    status: 401,
    code: "invalid_api_key",
  });
  console.log(
    "serve: OpenAI's client reads texts, conversations, streams, log probabilities and JSON under a schema, " +
      "and knows nine errors by their types",
  );
});

// Tools and reasoning, in a template that has both. The model has learned neither, so calls are valid only because they are forced to be.
const template = join(work, "tools.jinja");
writeFileSync(
  template,
  `{% for tool in tools or [] %}{{ tool.function.name }}: {{ tool.function.description }}
{% endfor %}{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
{{ m.content }}
{%- for call in m.tool_calls %}<tool_call>\
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>{% endfor %}
{% endfor %}{% if add_generation_prompt %}<assistant>\
{{ "<think></think>" if enable_thinking is defined and not enable_thinking else "<think>" }}{% endif %}`,
);
await serving(["--template", template], async ({ base_url: baseURL, model }) => {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  const messages = [{ role: "user", content: "Rome?" }];
  const parameters = {
    type: "object",
    properties: { city: { enum: ["Rome", "Oslo"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
    required: ["city", "days"],
    additionalProperties: false,
  };
  const tools = [
    { type: "function", function: { name: "weather", description: "A", parameters } },
    { type: "function", function: { name: "now", description: "B", parameters: { type: "object", properties: {} } } },
  ];
  const asked = {
    model,
    messages,
    tools,
    tool_choice: "required",
    parallel_tool_calls: false,
    enable_thinking: false,
    max_completion_tokens: 100,
  };
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const {
      choices: [{ message, finish_reason }],
    } = await client.chat.completions.create({ ...asked, seed });
    assert.equal(finish_reason, "tool_calls");
    assert.equal(message.content, null);
    assert.equal(message.tool_calls.length, 1);
    const [
      {
        id,
        type,
        function: { name, arguments: text },
      },
    ] = message.tool_calls;
    assert.match(id, /^call_/);
    assert.equal(type, "function");
    const given = JSON.parse(text);
    assert(["weather", "now"].includes(name), name);
    if (name === "weather") {
      assert(
        parameters.properties.city.enum.includes(given.city) && Number.isInteger(given.days) && given.days >= 1 && given.days <= 9,
        text,
      );
    }
    const whole = await client.chat.completions.stream({ ...asked, seed }).finalChatCompletion();
    assert.equal(whole.choices[0].finish_reason, "tool_calls");
    assert.deepEqual(
      whole.choices[0].message.tool_calls.map((call) => call.function),
      message.tool_calls.map((call) => call.function),
    );
  }

  // A function that is named is called, and its result goes back.
  let called = 0;
  const runner = client.chat.completions.runTools({
    ...asked,
    seed: 3,
    tool_choice: { type: "function", function: { name: "weather" } },
    tools: [
      {
        type: "function",
        function: {
          ...tools[0].function,
          parse: JSON.parse,
          function: ({ city }) => {
            ++called;
            return `${city} is warm`;
          },
        },
      },
    ],
  });
  await runner.done();
  assert.equal(called, 1);
  assert.deepEqual(
    runner.messages.map(({ role }) => role),
    ["user", "assistant", "tool"],
  );
  const { tool_choice, ...free } = asked;
  const after = await client.chat.completions.create({
    ...free,
    tool_choice: "none",
    messages: runner.messages,
    max_completion_tokens: 5,
    seed: 1,
  });
  assert(after.choices[0].message.content.length > 0);

  // Reasoning, which the prompt begins unless it is switched off.
  const question = { model, messages, max_completion_tokens: 20, seed: 4, temperature: 0.7 };
  const thinks = (await client.chat.completions.create(question)).choices[0].message;
  assert(thinks.reasoning_content.length > 0);
  assert.equal(thinks.content, "");
  let reasoning = "";
  for await (const part of await client.chat.completions.create({ ...question, stream: true })) {
    reasoning += part.choices[0].delta.reasoning_content ?? "";
  }
  assert.equal(reasoning, thinks.reasoning_content);
  const plain = (await client.chat.completions.create({ ...question, chat_template_kwargs: { enable_thinking: false } })).choices[0]
    .message;
  assert(plain.content.length > 0);
  assert.equal(plain.reasoning_content, undefined);
  await assert.rejects(client.chat.completions.create({ ...question, reasoning_effort: "high" }), {
    status: 400,
    param: "reasoning_effort",
  });
  console.log("serve: OpenAI's client calls tools, whole, streamed and by itself, and reads reasoning");
});
