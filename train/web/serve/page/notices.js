// Announces what has happened.
import { at } from "./element.js";

// Announces a text to people who hear the page.
export function announce(text) {
  at("status").textContent = "";
  setTimeout(() => {
    at("status").textContent = text;
  }, 50);
}

// Shows a line above the prompt, until the next one. An empty text removes it.
export function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = text === "";
  if (text) announce(text);
}
