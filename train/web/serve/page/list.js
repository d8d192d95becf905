// The list of conversations, and the buttons around it.
import { at, button, element, iconButton } from "./element.js";
import { appendText } from "./marked_text.js";
import { titleOf } from "./conversation.js";
import { conversations, running, state } from "./page.js";
import { exportAll, importFile, remove, rename, show, showNew } from "./conversations.js";
import { closeSide } from "./side.js";

// Shows a conversation, and goes back to the prompt.
function goTo(act) {
  act();
  closeSide();
  at("prompt").focus();
}

function itemOf(conversation) {
  const title = titleOf(conversation);
  const isCurrent = conversation === state.current;
  const attributes = { class: "open", "data-part": "open", dir: "auto", "aria-current": isCurrent ? "true" : null };
  const open = button("", () => goTo(() => show(conversation)), attributes);
  appendText(open, title);
  return element(
    "li",
    { "data-id": conversation.id, class: `${isCurrent ? "current" : ""} ${running.has(conversation.id) ? "busy" : ""}` },
    open,
    iconButton("edit", `Rename: ${title}`, () => rename(conversation), { "data-part": "rename" }),
    iconButton("trash", `Delete: ${title}`, () => remove(conversation), { "data-part": "delete" }),
  );
}

// The button that had the focus has it afterwards.
export function showList() {
  const { activeElement } = document;
  const focused = activeElement && activeElement.closest("#list li");
  const [id, part] = focused ? [focused.dataset.id, activeElement.dataset.part] : [];
  const all = [...conversations.values()].filter((one) => one.messages.length > 0).sort((a, b) => b.updated - a.updated);
  at("list").replaceChildren(...all.map(itemOf));
  const again = id ? at("list").querySelector(`[data-id="${CSS.escape(id)}"] [data-part=${part}]`) : null;
  if (again) again.focus();
}

export function startList() {
  at("new").addEventListener("click", () => goTo(showNew));
  at("export").addEventListener("click", exportAll);
  at("import").addEventListener("click", () => at("import-file").click());
  at("import-file").addEventListener("change", () => {
    if (at("import-file").files.length) importFile(at("import-file").files[0]);
    at("import-file").value = "";
  });
}
