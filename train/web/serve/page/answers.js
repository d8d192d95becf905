// Asks for answers, and follows them to their end.
import { announce, notice } from "./notices.js";
import { isNumber } from "./values.js";
import { isEmptyAnswer, newVariant, shownOf } from "./conversation.js";
import { Answer } from "./answer.js";
import { changed, config, conversations, modelName, running, save, state } from "./page.js";
import { askForKey } from "./models.js";

const SAVE_EVERY = 2000; // ms
const USUAL_LENGTH = 256; // tokens that continue a text

function requestOf(conversation) {
  const { thinking, ...numbers } = state.settings;
  const isText = conversation.mode === "text";
  const body = { model: modelName() || undefined, ...numbers };
  if (config.thinking && thinking && !isText) body.enable_thinking = thinking === "on";
  if (isText && !body.max_tokens) body.max_tokens = USUAL_LENGTH;
  return body;
}

// Adds a text of the user. Where the last answer has nothing, the message before it was never answered, so the text is sent together with
// it.
export function addText(conversation, text) {
  const { messages, mode } = conversation;
  const last = messages.at(-1);
  const isUnanswered = last && last.role === "assistant" && isEmptyAnswer(last);
  if (!isUnanswered) {
    messages.push({ role: "user", content: text });
    return;
  }
  messages.pop();
  if (mode !== "text") messages.push({ role: "user", content: `${messages.pop().content}\n\n${text}` });
  else if (text !== "") messages.push({ role: "user", content: text });
}

// Returns the message of the answer to the last message of the user. It is made if there is none, and left by an answer that has nothing.
function answerMessage({ messages }) {
  const last = messages.at(-1);
  if (!last || last.role !== "assistant") {
    messages.push({ role: "assistant", shown: 0, variants: [] });
  } else if (isEmptyAnswer(last)) {
    last.variants.splice(last.shown, 1);
  }
  return messages.at(-1);
}

// Answers the last message of the user.
export function begin(conversation) {
  const message = answerMessage(conversation);
  const system = conversation.mode === "text" ? "" : conversation.system;
  const variant = { ...newVariant(), model: modelName(), system, from: conversation.from, request: requestOf(conversation) };
  if (isNumber(variant.request.seed)) variant.request.seed += message.variants.length; // another answer, not the same one
  message.shown = message.variants.push(variant) - 1;
  run(conversation, variant, false);
}

// Writes another answer to the same message.
export function again(conversation) {
  if (!running.has(conversation.id)) begin(conversation);
}

// Continues an answer that was interrupted or has reached its limit.
export function proceed(conversation) {
  const variant = shownOf(conversation.messages.at(-1));
  if (running.has(conversation.id)) return;
  if (variant.ending === "length" && conversation.mode !== "text" && variant.request.max_tokens) {
    variant.request.max_tokens += state.settings.max_tokens || USUAL_LENGTH;
  }
  run(conversation, variant, true);
}

export function leaveOutOldest(conversation) {
  conversation.from += 2;
  begin(conversation);
}

// Shows another one of the answers to a message.
export function choose(conversation, message, step) {
  message.shown += step;
  changed("chosen");
  save(conversation);
}

// Asks for the key, and then for an answer in place of an error.
export async function enterKey(conversation) {
  if (!(await askForKey()) || running.has(conversation.id) || conversation.messages.length === 0) return;
  if (shownOf(conversation.messages.at(-1)).error) begin(conversation);
}

async function run(conversation, variant, continues) {
  const answer = answerOf(conversation, variant);
  running.set(conversation.id, answer);
  conversations.set(conversation.id, conversation);
  conversation.updated = Date.now();
  conversation.model = variant.model;
  save(conversation);
  notice("");
  changed("begun", conversation);
  announce("The model answers.");
  await answer.run(continues);

  running.delete(conversation.id);
  conversation.updated = Date.now();
  save(conversation);
  changed("ended", conversation);
  end(conversation, variant);
}

// Returns the Answer that will be written into the last message. It is saved and shown from time to time.
function answerOf(conversation, variant) {
  const index = conversation.messages.length - 1;
  const message = conversation.messages[index];
  let saved = performance.now();
  return new Answer(conversation, index, variant, () => {
    if (performance.now() - saved > SAVE_EVERY) {
      save(conversation);
      saved = performance.now();
    }
    changed("grown", conversation, message);
  });
}

// Acts on the end of an answer, or announces it.
function end(conversation, { error, ending }) {
  const isCurrent = conversation === state.current;
  if (error && error.code === "no_chat_template" && conversation.messages.length === 2) {
    continueAsText(conversation);
    if (isCurrent) notice("This model takes no conversations, so it continues the text.");
  } else if (error && error.status === 401 && isCurrent) {
    enterKey(conversation);
  } else {
    announce(error ? `Error: ${error.message}` : ending === "stopped" ? "Stopped." : "The answer is complete.");
  }
}

// Makes a conversation that the model cannot take a text, and asks again.
function continueAsText(conversation) {
  config.chat = false;
  Object.assign(conversation, { mode: "text", system: "", messages: conversation.messages.slice(0, 1) });
  begin(conversation);
}
