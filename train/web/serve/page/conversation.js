// Conversations. Each is {id, title, updated, mode: "chat" or "text", model, system, from, messages}, where `from` is the first message
// that is sent. A message is {role: "user", content} or {role: "assistant", variants, shown}: each answer to a prompt is one variant.
import { isNumber, isText } from "./values.js";
import { splitThought } from "./thoughts.js";

const isFlag = (value) => typeof value === "boolean";
const isObject = (value) => Boolean(value) && typeof value === "object";
const isError = (value) => Boolean(value) && isText(value.message);
const isUsage = (value) => Boolean(value) && isNumber(value.prompt_tokens) && isNumber(value.completion_tokens);

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function newConversation(mode = "chat", system = "", model = "") {
  return { id: newId(), title: "", updated: Date.now(), mode, model, system, from: 0, messages: [] };
}

// The fields of a variant: what they are at first, and the test of a value that was kept. `ending` is null while the answer is written,
// then "stop", "length", "stopped" (by the user), "lost" (the server or the page went away) or "error". The answer was asked for with
// request, model, system and from. first and thought are seconds, rate is tokens per second.
const VARIANT = {
  content: ["", isText],
  reasoning: ["", isText],
  ending: [null, isText],
  error: [null, isError],
  usage: [null, isUsage],
  seed: [null, isNumber],
  request: [null, isObject],
  model: ["", isText],
  system: ["", isText],
  from: [0, isNumber],
  first: [null, isNumber],
  rate: [null, isNumber],
  thought: [null, isNumber],
  rating: [null, isFlag],
};

export const newVariant = () => Object.fromEntries(Object.entries(VARIANT).map(([name, [value]]) => [name, value]));

// Sets the fields of `made` whose values in `kept` pass their tests, given as [name, test].
function withFields(made, kept, tests) {
  for (const [name, test] of tests) {
    if (test(kept[name])) made[name] = kept[name];
  }
  return made;
}

function readVariant(kept) {
  if (!kept || !isText(kept.content)) return null;
  const tests = Object.entries(VARIANT).map(([name, [, test]]) => [name, test]);
  const made = withFields({ ...newVariant(), ending: "lost" }, kept, tests);
  const { error } = made;
  if (error) made.error = { message: error.message, status: Number(error.status) || 0, code: String(error.code || "") };
  return made;
}

function readMessage(value) {
  if (value && value.role === "user" && isText(value.content)) return { role: "user", content: value.content };
  if (!value || value.role !== "assistant" || !Array.isArray(value.variants)) return null;
  const variants = value.variants.map(readVariant).filter((one) => one !== null);
  const shown = Math.min(Math.max(0, Math.trunc(Number(value.shown)) || 0), variants.length - 1);
  return variants.length === 0 ? null : { role: "assistant", shown, variants };
}

const CONVERSATION = Object.entries({ id: isText, title: isText, updated: isNumber, model: isText, system: isText, from: isNumber });

// Returns a conversation that was kept, or null if it is not one: anybody can change the storage.
export function readConversation(value) {
  if (!value || !isText(value.id) || !Array.isArray(value.messages)) return null;
  const messages = value.messages.map(readMessage);
  if (messages.includes(null)) return null;
  const made = { ...newConversation(value.mode === "text" ? "text" : "chat"), updated: 0, messages };
  return withFields(made, value, CONVERSATION);
}

export const shownOf = (message) => message.variants[message.shown];
export const isEmptyAnswer = (message) => shownOf(message).content + shownOf(message).reasoning === "";

export function titleOf(conversation) {
  const beginning = (conversation.messages[0]?.content || "").trim().replace(/\s+/g, " ").slice(0, 80);
  return conversation.title || beginning || "New conversation";
}

// The text before message `count` in text mode.
export function textOf(conversation, count) {
  const texts = conversation.messages.slice(0, count).map((message) => (message.role === "user" ? message : shownOf(message)).content);
  return texts.join("");
}

// The messages before message `count`, as they are sent: without thoughts, and from message `from` on.
export function messagesOf(conversation, count, system, from) {
  const messages = conversation.messages.slice(from, count).map((message) => {
    const content = message.role === "user" ? message.content : splitThought(shownOf(message).content).text;
    return { role: message.role, content };
  });
  return system ? [{ role: "system", content: system }, ...messages] : messages;
}

// An answer as a message of a file.
export function messageWithThoughts({ content, reasoning }) {
  return { role: "assistant", content, ...(reasoning ? { reasoning_content: reasoning } : {}) };
}
