// Keeps conversations in the storage of the browser, and nowhere else.
import { parsed } from "./values.js";
import { keepText, kept } from "./storage.js";
import { readConversation } from "./conversation.js";

const PREFIX = "dikkat.chat.1.";

export function allKept() {
  const keys = Array.from({ length: kept.length }, (_, i) => kept.key(i)).filter((key) => key.startsWith(PREFIX));
  const all = keys.map((key) => [key, readConversation(parsed(kept.getItem(key)))]);
  return all.filter(([key, one]) => one && PREFIX + one.id === key).map(([, one]) => one);
}

// Returns whether there was room for the conversation.
export const keep = (conversation) => keepText(PREFIX + conversation.id, JSON.stringify(conversation));
export const forget = (conversation) => kept.removeItem(PREFIX + conversation.id);

// Calls act(id, conversation) when another tab has kept a conversation, or forgotten it, which makes it null.
export function onOtherTab(act) {
  window.addEventListener("storage", ({ key, newValue }) => {
    if (key === null || !key.startsWith(PREFIX)) return;
    act(key.slice(PREFIX.length), newValue === null ? null : readConversation(parsed(newValue)));
  });
}
