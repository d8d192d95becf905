// The field in which messages are written, and what its keys and buttons do.
import { at } from "./element.js";
import { growField, isComposing, isSendKey } from "./fields.js";
import { running, state } from "./page.js";
import { addText, begin } from "./answers.js";
import { viewOf } from "./messages.js";

// A text may be continued without another one.
function canSend() {
  const { mode, messages } = state.current;
  return at("prompt").value.trim() !== "" || (mode === "text" && messages.length > 0);
}

function placeholder({ mode, messages }) {
  if (mode !== "text") return "Write a message";
  return messages.length ? "Add text, or send nothing to continue" : "Begin a text";
}

export function showComposer() {
  const isRunning = running.has(state.current.id);
  at("prompt").placeholder = placeholder(state.current);
  at("prompt-label").textContent = state.current.mode === "text" ? "Text" : "Message";
  at("send").hidden = isRunning;
  at("stop").hidden = !isRunning;
  at("send").disabled = !canSend();
  at("log").setAttribute("aria-busy", String(isRunning));
}

function send() {
  if (running.has(state.current.id) || !canSend()) return;
  addText(state.current, at("prompt").value);
  at("prompt").value = "";
  growField(at("prompt"));
  begin(state.current);
}

export function stop() {
  running.get(state.current.id)?.stop();
  at("prompt").focus();
}

function editLast() {
  const last = state.current.messages.findLast((message) => message.role === "user");
  if (last) viewOf(state.current, last).edit();
  return last !== undefined;
}

function onKey(event) {
  if (isComposing(event)) return;
  if (isSendKey(event)) {
    event.preventDefault();
    send();
  } else if (event.key === "ArrowUp" && at("prompt").value === "" && editLast()) {
    event.preventDefault();
  }
}

export function startComposer() {
  at("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  at("prompt").addEventListener("input", () => {
    growField(at("prompt"));
    showComposer();
  });
  at("prompt").addEventListener("keydown", onKey);
  at("stop").addEventListener("click", stop);
}
