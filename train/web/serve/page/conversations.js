// Changes conversations as a whole, as people ask for.
import { at, element } from "./element.js";
import { plural } from "./words.js";
import { notice } from "./notices.js";
import { askUser } from "./dialogs.js";
import { newConversation, titleOf } from "./conversation.js";
import { forget, onOtherTab } from "./conversation_store.js";
import { exported, imported } from "./conversation_lines.js";
import { changed, config, conversations, running, save, state } from "./page.js";

export function show(conversation) {
  state.current = conversation;
  changed("current");
}

export function showNew() {
  const { system, model } = state.current || { system: "", model: "" };
  show(newConversation(config.chat ? "chat" : "text", system, model));
  notice("");
}

export async function rename(conversation) {
  const title = await askUser({ title: "Rename the conversation", label: "Name", value: titleOf(conversation), yes: "Rename" });
  if (title === null) return;
  conversation.title = title.trim().slice(0, 200);
  save(conversation);
  changed("named");
}

export async function remove(conversation) {
  const text = `“${titleOf(conversation)}” will be gone.`;
  if ((await askUser({ title: "Delete the conversation?", text, yes: "Delete", danger: true })) === null) return;
  running.get(conversation.id)?.stop();
  conversations.delete(conversation.id);
  forget(conversation);
  if (conversation === state.current) showNew();
  else changed("list");
  at("new").focus();
}

export async function removeAll() {
  const text = `${plural([...conversations.values()].filter((one) => one.messages.length).length, "conversation")} will be gone.`;
  if ((await askUser({ title: "Delete all conversations?", text, yes: "Delete all", danger: true })) === null) return;
  running.forEach((answer) => answer.stop());
  conversations.forEach(forget);
  conversations.clear();
  showNew();
}

export function exportAll() {
  const text = exported([...conversations.values()].sort((a, b) => a.updated - b.updated));
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  element("a", { href: url, download: "conversations.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function importFile(file) {
  try {
    const made = imported(await file.text());
    made.forEach((one) => {
      conversations.set(one.id, one);
      save(one);
    });
    if (made.length > 0) show(made[0]);
    notice(`${plural(made.length, "conversation")} imported.`);
  } catch (error) {
    notice(error.message);
  }
}

// Takes what other tabs change, but for conversations that are being answered here.
export function followOtherTabs() {
  onOtherTab((id, conversation) => {
    if (running.has(id)) return;
    if (conversation) conversations.set(id, conversation);
    else conversations.delete(id);
    if (state.current.id !== id) changed("list");
    else if (conversation) show(conversation);
    else showNew();
  });
}
