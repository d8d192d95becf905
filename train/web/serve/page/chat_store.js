// Conversations and settings, which are kept in the storage of the browser and nowhere else.
"use strict";

const PREFIX = "dikkat.chat.1.";
const SETTINGS = "dikkat.chat.settings";
const THEME = "dikkat.chat.theme";
const KEY = "dikkat.chat.key";

// The storage of the browser, or the memory of the page if the browser refuses.
function storageOf(name) {
  try {
    const storage = window[name];
    storage.setItem("dikkat.chat.test", "1");
    storage.removeItem("dikkat.chat.test");
    return storage;
  } catch {
    const kept = new Map();
    return {
      isMemory: true,
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
      get length() {
        return kept.size;
      },
      key: (i) => [...kept.keys()][i],
    };
  }
}
const kept = storageOf("localStorage");
const session = storageOf("sessionStorage");

function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const orNull = (value, test) => (test(value) ? value : null);

// Each answer to a prompt is one variant. ending: null while it is written, then "stop", "length", "stopped" (by the user), "lost" (the server or the page
// went away) or "error".
function newVariant() {
  return {
    content: "",
    reasoning: "",
    ending: null,
    error: null,
    usage: null,
    seed: null,
    request: null,
    model: "",
    system: "",
    from: 0,
    first: null,
    rate: null,
    thought: null,
    rating: null,
  };
}

function readVariant(value) {
  if (!value || !isText(value.content)) return null;
  const usage = value.usage && isNumber(value.usage.prompt_tokens) && isNumber(value.usage.completion_tokens) ? value.usage : null;
  const error =
    value.error && isText(value.error.message)
      ? { message: value.error.message, status: Number(value.error.status) || 0, code: String(value.error.code || "") }
      : null;
  return {
    ...newVariant(),
    content: value.content,
    reasoning: isText(value.reasoning) ? value.reasoning : "",
    ending: isText(value.ending) ? value.ending : "lost",
    error,
    usage,
    seed: orNull(value.seed, isNumber),
    request: value.request && typeof value.request === "object" ? value.request : null,
    model: isText(value.model) ? value.model : "",
    system: isText(value.system) ? value.system : "",
    from: isNumber(value.from) ? value.from : 0,
    first: orNull(value.first, isNumber),
    rate: orNull(value.rate, isNumber),
    thought: orNull(value.thought, isNumber),
    rating: orNull(value.rating, (one) => typeof one === "boolean"),
  };
}

// Returns a conversation that was kept, or null if it is not one: anybody can change the storage.
function readConversation(value) {
  if (!value || !isText(value.id) || !Array.isArray(value.messages)) return null;
  const messages = [];
  for (const message of value.messages) {
    if (message && message.role === "user" && isText(message.content)) {
      messages.push({ role: "user", content: message.content });
    } else if (message && message.role === "assistant" && Array.isArray(message.variants)) {
      const variants = message.variants.map(readVariant).filter((one) => one !== null);
      if (variants.length === 0) return null;
      messages.push({
        role: "assistant",
        shown: Math.min(Math.max(0, Math.trunc(Number(message.shown)) || 0), variants.length - 1),
        variants,
      });
    } else {
      return null;
    }
  }
  return {
    id: value.id,
    title: isText(value.title) ? value.title : "",
    updated: isNumber(value.updated) ? value.updated : 0,
    mode: value.mode === "text" ? "text" : "chat",
    model: isText(value.model) ? value.model : "",
    system: isText(value.system) ? value.system : "",
    from: isNumber(value.from) ? value.from : 0,
    messages,
  };
}

const newConversation = (mode = "chat", system = "", model = "") => ({
  id: newId(),
  title: "",
  updated: Date.now(),
  mode,
  model,
  system,
  from: 0,
  messages: [],
});

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const readKept = (id) => readConversation(parsed(kept.getItem(PREFIX + id)));

function allKept() {
  const all = [];
  for (let i = 0; i < kept.length; ++i) {
    const key = kept.key(i);
    if (!key.startsWith(PREFIX)) continue;
    const one = readConversation(parsed(kept.getItem(key)));
    if (one && PREFIX + one.id === key) all.push(one);
  }
  return all;
}

// Returns whether the conversation could be kept.
function keep(conversation) {
  try {
    kept.setItem(PREFIX + conversation.id, JSON.stringify(conversation));
    return true;
  } catch {
    return false;
  }
}
const forget = (conversation) => kept.removeItem(PREFIX + conversation.id);

const titleOf = (conversation) =>
  conversation.title || (conversation.messages[0]?.content || "").trim().replace(/\s+/g, " ").slice(0, 80) || "New conversation";
const shownOf = (message) => message.variants[message.shown];

// The conversations as lines of JSON, in the format that `dikkat finetune --data` reads.
function exported(conversations) {
  return conversations
    .filter((one) => one.messages.length > 0)
    .map((one) => {
      if (one.mode === "text") return JSON.stringify({ text: textOf(one, one.messages.length) });
      const messages = one.messages
        .map((message) => {
          if (message.role === "user") return { role: "user", content: message.content };
          const { content, reasoning } = shownOf(message);
          return { role: "assistant", content, ...(reasoning ? { reasoning_content: reasoning } : {}) };
        })
        .filter((message) => message.role === "user" || message.content || message.reasoning_content);
      return JSON.stringify({ messages: one.system ? [{ role: "system", content: one.system }, ...messages] : messages });
    })
    .map((line) => `${line}\n`)
    .join("");
}

// Reads such lines. Throws an Error that names the line.
function imported(text) {
  return text.split(/\r?\n/).flatMap((line, i) => {
    if (line.trim() === "") return [];
    const value = parsed(line);
    const made = newConversation();
    const wrong = () =>
      new Error(
        `Line ${i + 1} of the file is not a conversation, expected {"messages": [...]} with messages of the user and the assistant in turn.`,
      );
    if (value && isText(value.text)) {
      return [{ ...made, mode: "text", messages: [{ role: "user", content: value.text }] }];
    }
    if (!value || !Array.isArray(value.messages)) throw wrong();
    for (const message of value.messages) {
      const next = made.messages.length % 2 === 0 ? "user" : "assistant";
      if (!message || !isText(message.content)) throw wrong();
      if (message.role === "system" && made.messages.length === 0 && made.system === "") made.system = message.content;
      else if (message.role !== next) throw wrong();
      else if (next === "user") made.messages.push({ role: "user", content: message.content });
      else
        made.messages.push({
          role: "assistant",
          shown: 0,
          variants: [
            {
              ...newVariant(),
              content: message.content,
              reasoning: isText(message.reasoning_content) ? message.reasoning_content : "",
              ending: "stop",
            },
          ],
        });
    }
    if (made.messages.length === 0) throw wrong();
    return [made];
  });
}

// The settings of requests. Empty ones are left to the server.
const NUMBERS = [
  { name: "temperature", label: "Temperature", low: 0, high: 1000, step: 0.1, usual: "1", hint: "0: the likeliest" },
  { name: "top_p", label: "Top p", low: 0, high: 1, step: 0.05, usual: "1", hint: "share of likelihood kept" },
  { name: "top_k", label: "Top k", low: 0, high: 1e9, step: 1, whole: true, usual: "all", hint: "likeliest tokens kept" },
  { name: "min_p", label: "Min p", low: 0, high: 1, step: 0.05, usual: "0", hint: "times the likeliest" },
  { name: "max_tokens", label: "Longest answer", low: 1, high: 1e9, step: 1, whole: true, usual: "context", hint: "tokens" },
  { name: "repetition_penalty", label: "Repetition penalty", low: 0.01, high: 100, step: 0.05, usual: "1", hint: "above 1: fewer" },
  {
    name: "seed",
    label: "Seed",
    low: 0,
    high: Number.MAX_SAFE_INTEGER,
    step: 1,
    whole: true,
    usual: "random",
    hint: "same seed, same text",
  },
];

function readSettings() {
  const value = parsed(kept.getItem(SETTINGS)) || {};
  const settings = { thinking: ["on", "off"].includes(value.thinking) ? value.thinking : "" };
  for (const { name, low, high } of NUMBERS) {
    if (isNumber(value[name]) && value[name] >= low && value[name] <= high) settings[name] = value[name];
  }
  return settings;
}
