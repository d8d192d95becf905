// Shows the messages of the current conversation.
import { at } from "./element.js";
import { state } from "./page.js";
import { UserView } from "./user_view.js";
import { AnswerView } from "./answer_view.js";

const views = new WeakMap(); // of messages

export function viewOf(conversation, message) {
  if (!views.has(message)) {
    const View = message.role === "user" ? UserView : AnswerView;
    views.set(message, new View(conversation, message));
  }
  return views.get(message);
}

// Messages that are shown already stay where they are.
export function showMessages() {
  const log = at("log");
  const nodes = state.current.messages.map((message) => {
    const view = viewOf(state.current, message);
    view.update();
    return view.node;
  });
  nodes.forEach((node, i) => {
    if (log.children[i] !== node) log.insertBefore(node, log.children[i] || null);
  });
  while (log.children.length > nodes.length) log.lastChild.remove();
  at("welcome").hidden = nodes.length > 0;
}
