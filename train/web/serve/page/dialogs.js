// The dialog that asks a question, and what all dialogs do.
import { at } from "./element.js";

// Asks in a dialog. Returns the text of its field ("" without a field), or null if it is left.
export function askUser({ title, text = "", yes, label = "", value = "", type = "text", danger = false }) {
  at("ask-title").textContent = title;
  at("ask-text").textContent = text;
  at("ask-text").hidden = text === "";
  at("ask-yes").textContent = yes;
  at("ask-yes").className = danger ? "danger" : "primary";
  at("ask-field").hidden = label === "";
  at("ask-label").textContent = label;
  Object.assign(at("ask-input"), { value, type, name: type });
  const answer = answerOfDialog(label !== "");
  if (label !== "") at("ask-input").select();
  else at("ask-no").focus();
  return answer;
}

function answerOfDialog(hasField) {
  return new Promise((done) => {
    let answer = null;
    at("ask-form").onsubmit = (event) => {
      event.preventDefault();
      answer = hasField ? at("ask-input").value : "";
      at("ask").close();
    };
    at("ask-no").onclick = () => at("ask").close();
    at("ask").onclose = () => done(answer);
    at("ask").showModal();
  });
}

// A click beside a dialog closes it.
export function startDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("mousedown", (event) => {
      const { left, right, top, bottom } = dialog.getBoundingClientRect();
      const isInside = left <= event.clientX && event.clientX <= right && top <= event.clientY && event.clientY <= bottom;
      if (event.target === dialog && !isInside) dialog.close();
    });
  }
  at("about").addEventListener("click", () => at("about-dialog").showModal());
  at("close-about").addEventListener("click", () => at("about-dialog").close());
  at("base-url").textContent = new URL("v1", location.href).href;
}
