// Writes one answer into a variant, as the server streams it.
import { isNumber, isText } from "./values.js";
import { messagesOf, textOf } from "./conversation.js";
import { ServerError, readEvents, request } from "./server.js";

const secondsSince = (moment) => (performance.now() - moment) / 1000;

export class Answer {
  // `at` is the index of the answer's message. changed() is called whenever there is more to show.
  constructor(conversation, at, variant, changed) {
    Object.assign(this, { conversation, at, variant, changed });
    this.isText = conversation.mode === "text";
    this.abort = new AbortController();
    this.tokens = 0; // that the server has generated
    this.rate = null; // tokens per second after the first one, as the server measures them: parts may arrive in bursts
    this.thoughtFrom = null; // when the thoughts began
  }

  stop() {
    this.variant.ending = "stopped";
    this.abort.abort();
  }

  // `again`: the answer was interrupted, or reached its limit. In a conversation the same request with the same seed writes the same text
  // again, so it is asked once more and what came before stays in place meanwhile. A text is continued from where it ended.
  async run(again = false) {
    const { variant } = this;
    this.before = again ? { content: variant.content, reasoning: variant.reasoning } : { content: "", reasoning: "" };
    this.content = this.isText ? this.before.content : "";
    this.reasoning = "";
    this.began = performance.now();
    this.hasBegun = false;
    Object.assign(variant, { ending: null, error: null, rating: null, rate: null });
    this.changed();
    try {
      const path = this.isText ? "v1/completions" : "v1/chat/completions";
      const response = await request("POST", path, this.body(again), this.abort.signal);
      await readEvents(response, (event) => this.take(event));
      variant.ending ??= "stop";
      Object.assign(variant, { content: this.content, reasoning: this.reasoning });
    } catch (error) {
      if (variant.ending !== "stopped") this.fail(error);
    }
    variant.rate = this.rate;
    this.changed();
  }

  body(again) {
    const { conversation, at, variant } = this;
    const body = { ...variant.request, stream: true, stream_options: { include_usage: true }, timings_per_token: true };
    if (again && !this.isText) body.seed = variant.seed;
    if (this.isText) body.prompt = textOf(conversation, at) + this.content;
    else body.messages = messagesOf(conversation, at, variant.system, variant.from);
    return body;
  }

  fail(error) {
    const { variant } = this;
    const isLost = error instanceof ServerError && error.status === 0 && variant.content + variant.reasoning !== "";
    variant.ending = isLost ? "lost" : "error";
    variant.error = { message: error.message, status: error.status || 0, code: error.code || "" };
    if (!(error instanceof ServerError)) console.error(error);
  }

  take({ seed, usage, timings, choices }) {
    const { variant } = this;
    if (Number.isSafeInteger(seed)) variant.seed = seed;
    if (usage) variant.usage = usage;
    if (timings) this.takeTimings(timings);
    const choice = choices && choices[0];
    if (!choice) return;
    this.takeText(choice.delta || { content: choice.text });
    if (choice.finish_reason) variant.ending = choice.finish_reason === "length" ? "length" : "stop";
    this.show();
  }

  takeTimings({ predicted_n, predicted_per_second }) {
    if (isNumber(predicted_n)) this.tokens = predicted_n;
    if (isNumber(predicted_per_second) && predicted_per_second > 0) this.rate = predicted_per_second;
  }

  takeText({ content, reasoning_content, reasoning }) {
    const thought = reasoning_content || reasoning;
    if (isText(thought)) this.reasoning += thought;
    if (isText(content)) this.content += content;
    if (content || thought) this.takeTimes();
  }

  // Notes when the answer began, and how long its thoughts took.
  takeTimes() {
    const { variant } = this;
    if (!this.hasBegun) variant.first = secondsSince(this.began);
    this.hasBegun = true;
    if (this.thoughtFrom === null && this.isThinking()) this.thoughtFrom = performance.now();
    if (this.thoughtFrom !== null && variant.thought === null && this.hasThought()) variant.thought = secondsSince(this.thoughtFrom);
  }

  isThinking() {
    return this.reasoning !== "" || /^\s*<think>/.test(this.content);
  }

  hasThought() {
    return this.reasoning ? this.content.trim() !== "" : this.content.includes("</think>");
  }

  // Shows what has come. What was there before an interruption stays until more has come, or something else.
  show() {
    const { before, content, reasoning } = this;
    const isBeginning = before.content.startsWith(content) && before.reasoning.startsWith(reasoning);
    const isShorter = content.length + reasoning.length < before.content.length + before.reasoning.length;
    if (!isBeginning || !isShorter) Object.assign(this.variant, { content, reasoning });
    this.changed();
  }
}
