// Shows an answer: its thoughts, its text and the part below.
import { element, icon } from "./element.js";
import { seconds } from "./words.js";
import { GrowingText } from "./marked_text.js";
import { MarkdownView } from "./markdown_view.js";
import { splitThought } from "./thoughts.js";
import { shownOf } from "./conversation.js";
import { state } from "./page.js";
import { answerEnd } from "./answer_end.js";
import { showFigures } from "./figures.js";
import { keepInView } from "./scrolling.js";

const MOST_DRAWINGS = 10; // a second
const LARGE = 200_000; // characters of a text whose blocks are laid out only where they are seen

function thoughtLabel(isRunning, took) {
  if (isRunning) return "Thinking";
  return took === null ? "Thoughts" : `Thought for ${took < 1 ? "a moment" : seconds(took)}`;
}

export class AnswerView {
  constructor(conversation, message) {
    Object.assign(this, { conversation, message, timer: 0, cost: 0 });
    this.label = element("span");
    const inner = element("div", { class: "inner", dir: "auto" });
    this.thought = element("details", { class: "thought" }, element("summary", {}, icon("right"), this.label), inner);
    this.thoughtText = new GrowingText(inner);
    this.text = element("div", { class: "text" });
    this.markdown = new MarkdownView(this.text);
    this.plain = new GrowingText(this.text);
    this.wait = element("span", { class: "waiting", "aria-hidden": "true" }, element("i"), element("i"), element("i"));
    this.after = element("div");
    const heading = element("h2", { class: "hidden" }, "Answer");
    const parts = [heading, this.thought, this.text, this.markdown.rest, this.wait, this.after];
    this.node = element("article", { class: "message answer" }, ...parts);
    this.update();
  }

  get index() {
    return this.conversation.messages.indexOf(this.message);
  }

  get isLast() {
    return this.index === this.conversation.messages.length - 1;
  }

  // Draws soon, and so seldom that drawing takes at most a third of the time.
  later() {
    if (this.timer) return;
    const draw = () => {
      this.timer = 0;
      if (state.current !== this.conversation) return;
      const began = performance.now();
      this.update();
      showFigures();
      keepInView();
      this.cost = performance.now() - began;
    };
    this.timer = setTimeout(draw, Math.max(1000 / MOST_DRAWINGS, 2 * this.cost));
  }

  update() {
    const variant = shownOf(this.message);
    const isRunning = variant.ending === null;
    const isText = this.conversation.mode === "text";
    const split = isText ? { thought: "", text: variant.content, thinks: false } : splitThought(variant.content);
    const thought = (variant.reasoning + split.thought).trim();
    const hasText = split.text.trim() !== "";
    this.node.setAttribute("aria-label", isText ? "Continuation" : `Answer of ${variant.model || "the model"}`);
    this.showThought(thought, isRunning && (split.thinks || (variant.reasoning !== "" && !hasText)), variant.thought);
    this.showText(split.text, isText, isRunning);
    this.wait.hidden = !isRunning || split.text !== "" || thought !== "";
    this.showEnd(variant, !hasText && thought === "");
  }

  showThought(text, isRunning, took) {
    const label = thoughtLabel(isRunning, took);
    this.thought.hidden = text === "";
    this.thought.classList.toggle("running", isRunning);
    if (this.label.textContent !== label) this.label.textContent = label;
    this.thoughtText.update(text);
  }

  showText(text, isText, isRunning) {
    this.text.classList.toggle("plain", isText);
    this.text.classList.toggle("large", text.length > LARGE);
    if (isText) {
      this.plain.update(text);
    } else {
      this.markdown.update(text);
      if (!isRunning) this.markdown.finish();
    }
  }

  // Makes the part below again if anything that it shows has changed.
  showEnd({ ending, error, rating }, isEmpty) {
    const { shown, variants } = this.message;
    const content = JSON.stringify([shown, variants.length, ending, error, rating, this.isLast]);
    if (content === this.content) return;
    this.content = content;
    this.after.hidden = ending === null;
    this.after.replaceChildren(...(ending === null ? [] : answerEnd(this, isEmpty)));
  }
}
