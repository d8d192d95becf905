// Requests to the server that the page came from, in OpenAI's protocol.
"use strict";

class ServerError extends Error {
  constructor(message, status = 0, code = "") {
    super(message);
    this.status = status; // 0: no response
    this.code = code;
  }
}

const NOBODY = "The server does not answer. It may have been stopped, or the network may be down.";

function errorFrom(object, status) {
  const error = object && typeof object === "object" && object.error;
  const message = error && typeof error === "object" ? error.message : error;
  return new ServerError(
    typeof message === "string" && message ? message : `The server answered with status ${status}.`,
    status,
    error && typeof error.code === "string" ? error.code : "",
  );
}

async function request(method, path, body, signal) {
  const key = session.getItem(KEY);
  let response;
  try {
    response = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      redirect: "error",
      headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...(key ? { Authorization: `Bearer ${key}` } : {}) },
      body: body ? JSON.stringify(body) : undefined,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(NOBODY);
  }
  if (response.ok) return response;
  const text = await response.text().catch(() => "");
  throw errorFrom(parsed(text), response.status);
}

// Calls act(object) for each event of a stream, until [DONE]. Throws ServerError if the stream ends before.
async function readEvents(response, act) {
  const reader = response.body.getReader(),
    decoder = new TextDecoder();
  let rest = "",
    isComplete = false;
  for (;;) {
    let some;
    try {
      some = await reader.read();
    } catch (error) {
      if (isComplete) return;
      if (error.name === "AbortError") throw error;
      throw new ServerError("The connection to the server was lost in the middle of the answer.");
    }
    if (isComplete && some.done) return;
    if (some.done) throw new ServerError("The server went away in the middle of the answer.");
    rest += decoder.decode(some.value, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") {
        isComplete = true; // the end of the response follows
        continue;
      }
      const object = parsed(data);
      if (object && object.error) throw errorFrom(object, 500);
      if (object) act(object);
    }
  }
}

// The text before message `count` in text mode.
const textOf = (conversation, count) =>
  conversation.messages
    .slice(0, count)
    .map((message) => (message.role === "user" ? message.content : shownOf(message).content))
    .join("");

// The messages before message `count`, as they are sent: without thoughts, and from message `from` on.
function messagesOf(conversation, count, system, from) {
  const messages = system ? [{ role: "system", content: system }] : [];
  conversation.messages.slice(from, count).forEach((message) => {
    messages.push(
      message.role === "user"
        ? { role: "user", content: message.content }
        : { role: "assistant", content: splitThought(shownOf(message).content).text },
    );
  });
  return messages;
}

// Writes one answer into a variant. The caller shows it whenever changed() is called.
class Answer {
  constructor(conversation, at, variant, changed) {
    Object.assign(this, { conversation, at, variant, changed });
    this.abort = new AbortController();
    this.tokens = 0; // that the server has generated
    this.rate = null; // tokens per second after the first one, as the server measures them: parts may arrive in bursts
  }

  stop() {
    this.variant.ending = "stopped";
    this.abort.abort();
  }

  // `again`: the answer was interrupted, or reached its limit. In a conversation the same request with the same seed writes the same text again, so it is asked
  // once more and what came before stays in place meanwhile. A text is continued from where it ended.
  async run(again = false) {
    const { conversation, variant } = this;
    const isText = conversation.mode === "text";
    const before = again ? { content: variant.content, reasoning: variant.reasoning } : { content: "", reasoning: "" };
    const head = again && isText ? before.content : "";
    let content = head,
      reasoning = "";
    const began = performance.now();
    let hasBegun = false;
    let thoughtFrom = 0;
    Object.assign(variant, { ending: null, error: null, rating: null, rate: null });
    this.changed();
    try {
      const body = { ...variant.request, stream: true, stream_options: { include_usage: true }, timings_per_token: true };
      if (again && !isText) body.seed = variant.seed;
      if (isText) body.prompt = textOf(conversation, this.at) + head;
      else body.messages = messagesOf(conversation, this.at, variant.system, variant.from);
      const response = await request("POST", isText ? "v1/completions" : "v1/chat/completions", body, this.abort.signal);
      await readEvents(response, (object) => {
        if (Number.isSafeInteger(object.seed)) variant.seed = object.seed;
        if (object.usage) variant.usage = object.usage;
        if (object.timings) this.takeTimings(object.timings);
        const choice = object.choices && object.choices[0];
        if (!choice) return;
        const delta = choice.delta || { content: choice.text };
        const thought = delta.reasoning_content || delta.reasoning;
        if (typeof thought === "string" && thought) reasoning += thought;
        if (typeof delta.content === "string" && delta.content) content += delta.content;
        if (delta.content || thought) {
          const now = performance.now();
          if (!hasBegun) variant.first = (now - began) / 1000;
          hasBegun = true;
          if (thoughtFrom === 0 && (reasoning || /^\s*<think>/.test(content))) thoughtFrom = now;
          if (thoughtFrom > 0 && variant.thought === null && (reasoning ? content.trim() !== "" : content.includes("</think>")))
            variant.thought = (now - thoughtFrom) / 1000;
        }
        if (choice.finish_reason) variant.ending = choice.finish_reason === "length" ? "length" : "stop";
        this.take(before, content, reasoning);
      });
      if (variant.ending === null) variant.ending = "stop";
      Object.assign(variant, { content, reasoning });
    } catch (error) {
      if (variant.ending !== "stopped") {
        variant.ending =
          error instanceof ServerError && error.status === 0 && variant.content + variant.reasoning !== "" ? "lost" : "error";
        variant.error = { message: error.message, status: error.status || 0, code: error.code || "" };
        if (!(error instanceof ServerError)) console.error(error);
      }
    }
    variant.rate = this.rate;
    this.changed(true);
  }

  takeTimings({ predicted_n, predicted_per_second }) {
    if (isNumber(predicted_n)) this.tokens = predicted_n;
    if (isNumber(predicted_per_second) && predicted_per_second > 0) this.rate = predicted_per_second;
  }

  // Takes what has come. What was there before an interruption stays until more has come, or something else.
  take(before, content, reasoning) {
    const holds =
      before.content.startsWith(content) &&
      before.reasoning.startsWith(reasoning) &&
      content.length + reasoning.length < before.content.length + before.reasoning.length;
    if (!holds) Object.assign(this.variant, { content, reasoning });
    this.changed();
  }
}
