// The part below an answer that has ended: how it ended, and what can be done with it.
import { button, element, iconButton } from "./element.js";
import { plural, rateText } from "./words.js";
import { appendText } from "./marked_text.js";
import { copyButton } from "./copy_button.js";
import { splitThought } from "./thoughts.js";
import { shownOf } from "./conversation.js";
import { config, contextOf, running } from "./page.js";
import { again, begin, choose, enterKey, leaveOutOldest, proceed } from "./answers.js";
import { rate } from "./rating.js";

// Returns whether the answer has used all of the model's context.
function isFull({ usage, model, ending }) {
  const room = contextOf(model);
  return room !== null && usage !== null && ending === "length" && usage.prompt_tokens + usage.completion_tokens >= room;
}

function canContinue({ conversation, isLast }, variant, isEmpty) {
  const isInterrupted = ["length", "stopped", "lost", "error"].includes(variant.ending);
  const isKnown = variant.request !== null && (variant.seed !== null || conversation.mode === "text");
  return isLast && !isEmpty && isInterrupted && isKnown && !isFull(variant);
}

// A button that removes the cause of an error, and asks again.
function wayOut(conversation, { code, status }) {
  const canBeShorter = conversation.mode !== "text" && conversation.messages.length - conversation.from > 2;
  if (code === "context_length_exceeded" && canBeShorter) {
    return button("Try again without the oldest messages", () => leaveOutOldest(conversation));
  }
  if (status === 401) return button("Enter the API key", () => enterKey(conversation));
  return button("Try again", () => begin(conversation));
}

function errorBox({ conversation, isLast }, { error, ending }, goOn) {
  const title = ending === "lost" ? "The answer is incomplete" : error.status === 503 ? "The server is busy" : "No answer";
  const words = element("p");
  appendText(words, error.message);
  const buttons = element("div", { class: "row" }, isLast ? wayOut(conversation, error) : null, goOn);
  return element("div", { class: "error", role: "group", "aria-label": "Error" }, element("strong", {}, title), words, buttons);
}

function endingWords(variant, isEmpty) {
  if (variant.ending === "length" && isFull(variant)) return "The answer ends here because the model's context is full.";
  if (variant.ending === "length") return "The answer ends here because it has reached the limit of its length.";
  if (variant.ending === "stopped") return "Stopped.";
  if (variant.ending === "lost") return "The answer is incomplete: the page was closed meanwhile.";
  return isEmpty ? "The answer is empty." : "";
}

// The buttons that show the other answers to the same message.
function choice({ conversation, message, isLast, node }) {
  const { shown, variants } = message;
  const isFree = isLast && !running.has(conversation.id);
  const step = (icon, label, name, by) => {
    const isPossible = shown + by >= 0 && shown + by < variants.length;
    const act = () => {
      if (!isPossible) return;
      choose(conversation, message, by);
      node.querySelector(`[data-step=${name}]`).focus();
    };
    return iconButton(icon, label, act, { "data-step": name, "aria-disabled": String(!isFree || !isPossible), disabled: !isFree });
  };
  const place = element("span", {}, `${shown + 1} / ${variants.length}`);
  return element("span", { class: "which" }, step("left", "Answer before", "before", -1), place, step("right", "Next answer", "after", 1));
}

function ratingButton(view, variant, name, label, value) {
  const act = async () => {
    if (variant.rating === value || !(await rate(view.conversation, view.index, variant, value))) return;
    view.update();
    view.node.querySelector(`[data-rating=${name}]`)?.focus();
  };
  return iconButton(name, label, act, { "aria-pressed": String(variant.rating === value), "data-rating": name });
}

function actions(view, variant, isEmpty) {
  const { conversation, message, isLast } = view;
  const parts = [];
  if (message.variants.length > 1) parts.push(choice(view));
  if (!isEmpty) parts.push(copyButton(() => splitThought(variant.content).text, "Copy the answer"));
  if (isLast && !(variant.error && isEmpty)) parts.push(iconButton("again", "Another answer", () => again(conversation)));
  if (config.feedback && !isEmpty && ["stop", "length"].includes(variant.ending)) {
    parts.push(ratingButton(view, variant, "good", "Good answer", true), ratingButton(view, variant, "bad", "Bad answer", false));
  }
  if (variant.rate !== null && variant.usage) {
    const figures = `${plural(variant.usage.completion_tokens, "token")}, ${rateText(variant.rate)}`;
    parts.push(element("span", { class: "what" }, figures));
  }
  return parts.length > 0 ? [element("div", { class: "actions" }, ...parts)] : [];
}

// Returns the elements below an answer. `view` is its AnswerView; `isEmpty` whether it has neither text nor thoughts.
export function answerEnd(view, isEmpty) {
  const variant = shownOf(view.message);
  const goOn = canContinue(view, variant, isEmpty) ? button("Continue", () => proceed(view.conversation), { class: "small" }) : null;
  const words = endingWords(variant, isEmpty);
  const parts = actions(view, variant, isEmpty);
  if (variant.error) return [errorBox(view, variant, goOn), ...parts];
  return words === "" ? parts : [element("p", { class: "ending" }, words, goOn), ...parts];
}
