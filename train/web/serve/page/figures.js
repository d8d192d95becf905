// The line under the prompt: the speed of the last answer, and how much of the context is used.
import { at, element } from "./element.js";
import { count, plural, rateText, seconds } from "./words.js";
import { shownOf } from "./conversation.js";
import { contextOf, modelName, running, state } from "./page.js";

function speedParts(answer, variant) {
  if (answer && answer.tokens === 0) return ["waiting for the first word"];
  if (answer) return answer.rate ? [rateText(answer.rate), plural(answer.tokens, "token")] : [];
  if (!variant || variant.rate === null) return [];
  return [rateText(variant.rate), variant.first === null ? "" : `first after ${seconds(variant.first)}`];
}

function showSpeed(answer, variant) {
  const parts = [state.models.length > 1 ? "" : modelName(), ...speedParts(answer, variant)].filter((part) => part !== "");
  const classOf = (part) => (part.startsWith("first") ? "extra" : "");
  at("speed").replaceChildren(...parts.map((part, i) => element("span", { class: classOf(part) }, i > 0 ? ` · ${part}` : part)));
}

// The tokens of the conversation: those of the last answer's prompt, and those that came after it.
function usedOf(answer, variant) {
  const isRunning = answer && answer.variant === variant;
  return variant.usage.prompt_tokens + (isRunning ? 0 : variant.usage.completion_tokens) + (answer ? answer.tokens : 0);
}

function showRoom(used, room) {
  const words = `${count(used)} of ${count(room)} tokens`;
  at("room-text").textContent = words;
  at("room-bar").setAttribute("aria-valuemax", room);
  at("room-bar").setAttribute("aria-valuenow", Math.min(used, room));
  at("room-bar").setAttribute("aria-valuetext", words);
  at("room-bar").firstElementChild.style.width = `${Math.min(100, (100 * used) / room)}%`;
  at("room").classList.toggle("full", used > 0.9 * room);
}

export function showFigures() {
  const last = state.current.messages.findLast((message) => message.role === "assistant" && shownOf(message).usage !== null);
  const variant = last ? shownOf(last) : null;
  const answer = running.get(state.current.id);
  showSpeed(answer, variant);
  const room = contextOf(modelName());
  at("room").hidden = room === null || variant === null;
  if (room !== null && variant !== null) showRoom(usedOf(answer, variant), room);
}
