// Shows texts of models, files and people, which may have control characters. These, and characters that change the direction of the text
// around them, are made visible, so that a text cannot pretend to be another one.
import { element } from "./element.js";
import { count } from "./words.js";

export const MOST_MARKS = 500; // of control characters in a block
const MOST_NAMES = 8; // of control characters in a mark
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;

const nameOf = (character) => `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

function markOf(run) {
  const rest = run.length > MOST_NAMES ? ` … (${count(run.length)})` : "";
  const names = Array.from(run.slice(0, MOST_NAMES), nameOf).join(" ") + rest;
  const mark = element("span", { class: "control", title: `control character${run.length === 1 ? "" : "s"} ${names}` }, names);
  mark.run = run;
  return mark;
}

// Appends a text. A run of control characters is one mark, also if it comes in parts. Browsers take long to place many marks, so only the
// first `limits.marks` are made, and replacement characters stand for the others.
export function appendText(parent, text, limits = { marks: MOST_MARKS - parent.childElementCount }) {
  const last = parent.lastChild;
  if (last && last.run && text.search(CONTROL) === 0) {
    text = last.run + text;
    last.remove();
    ++limits.marks;
  }
  let from = 0;
  const appendPlain = (to) => {
    if (to > from) parent.append(text.slice(from, to));
  };
  for (const { 0: run, index } of text.matchAll(CONTROL)) {
    appendPlain(index);
    from = index + run.length;
    parent.append(limits.marks > 0 ? markOf(run) : "\ufffd".repeat(run.length));
    if (limits.marks > 0) --limits.marks;
  }
  appendPlain(text.length);
}

// A text that grows. What was appended stays, unless the text is another one.
export class GrowingText {
  constructor(node) {
    this.node = node;
    this.text = "";
  }

  update(text) {
    if (!text.startsWith(this.text)) {
      this.node.replaceChildren();
      this.text = "";
    }
    appendText(this.node, text.slice(this.text.length));
    this.text = text;
  }
}
