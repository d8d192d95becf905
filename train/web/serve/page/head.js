// The head of the page, and what it shows before the first message.
import { at, element } from "./element.js";
import { appendText } from "./marked_text.js";
import { titleOf } from "./conversation.js";
import { changed, modelName, save, state } from "./page.js";

export function showHead() {
  const title = titleOf(state.current);
  at("title").replaceChildren();
  appendText(at("title"), title);
  document.title = state.current.messages.length ? `${title} – dikkat` : "dikkat";
  at("welcome-title").textContent = modelName() || "dikkat";
  at("welcome-text").textContent =
    state.current.mode === "text"
      ? "This model takes no conversations. It continues the text that you write."
      : "Write a message to begin. Conversations stay in this browser.";
}

// Offers the models, if there are several.
export function showModels() {
  at("model").hidden = state.models.length < 2;
  at("model").replaceChildren(...state.models.map(({ id }) => element("option", { value: id }, id)));
  at("model").value = modelName();
}

export function startHead() {
  at("model").addEventListener("change", () => {
    state.current.model = at("model").value;
    save(state.current);
    changed("model");
  });
}
