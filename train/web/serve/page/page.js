// The state of the page: its conversations, the one that is shown, the answers that are being written, the models and the settings.
//
// Data flows one way. Functions that change the state call changed(), and the acts of onChange() show the change (chat.js has them all).
// The changes are "current": another conversation is shown; "begun", "grown" and "ended": an answer; "chosen": another one of the answers
// to a message; "named": the title of a conversation; "list": the conversations; "models"; "model": that of the conversation.
import { at } from "./element.js";
import { isNumber, parsed } from "./values.js";
import { notice } from "./notices.js";
import { readSettings } from "./settings.js";
import { allKept, keep } from "./conversation_store.js";

export const config = { feedback: false, chat: true, thinking: false, ...parsed(at("config").textContent) };
export const conversations = new Map(allKept().map((one) => [one.id, one]));
export const running = new Map(); // the Answer of each conversation that is being answered
export const state = {
  current: null, // the conversation that is shown
  models: [], // of the server: {id, context_length}
  settings: readSettings(),
  isLeaving: false, // the page is being closed, which ends its requests
};

const acts = {};
export const onChange = (change, act) => void (acts[change] = act);
export const changed = (change, ...values) => acts[change](...values);

export function modelName() {
  const { models, current } = state;
  return models.some(({ id }) => id === current.model) ? current.model : (models[0] || {}).id || "";
}

// Returns the positions of a model's context, or null if the server does not report them.
export function contextOf(name) {
  const model = state.models.find(({ id }) => id === name) || state.models[0];
  return model && isNumber(model.context_length) ? model.context_length : null;
}

export function save(conversation) {
  if (conversation.messages.length === 0 || state.isLeaving || !conversations.has(conversation.id)) return;
  if (!keep(conversation)) {
    notice("The browser's storage for this page is full, so this conversation is not kept: export and delete some.");
  }
}
