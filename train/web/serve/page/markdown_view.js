// Shows Markdown that grows.
import { button, element } from "./element.js";
import { elementsOf, languageOf, tokensOf } from "./markdown.js";

const MOST_ELEMENTS = 5000; // of a block, such as a table; the others are shown on request

// Blocks before the last one cannot change any more, so only the last one is read again. `rest` is an element for below the text: it offers
// to show all of blocks that have too many elements.
export class MarkdownView {
  constructor(root) {
    this.root = root;
    this.most = MOST_ELEMENTS;
    this.rest = element(
      "p",
      { class: "rest" },
      "A part of this answer is very large, so only its beginning is shown. ",
      button("Show all", () => this.showAll(), { class: "small" }),
    );
    this.clear();
  }

  showAll() {
    const text = this.shown;
    this.most = Infinity;
    this.clear();
    this.update(text);
  }

  clear() {
    this.settled = ""; // the text of the blocks that cannot change
    this.settledNodes = 0; // and the number of their elements at the top
    this.isSettledCut = false; // whether elements are missing in them
    this.rest.hidden = true;
    this.shown = "";
    this.code = null; // the last block, if it is one of code
    this.references = {}; // the link definitions in the settled text
    this.updates = 0;
    this.root.replaceChildren();
  }

  update(raw) {
    // Read what is not settled.
    const text = raw.replace(/\r\n?/g, "\n");
    if (text === this.shown) return;
    if (!text.startsWith(this.settled)) this.clear();
    this.shown = text;
    ++this.updates;
    const rest = text.slice(this.settled.length);
    const [tokens] = tokensOf(rest, this.references);

    // Show it. All before the last block is settled now.
    const begin = tokens.findLastIndex((token) => token.level === 0 && token.nesting >= 0 && token.map);
    if (begin === 0 && this.growCode(tokens[0])) return;
    while (this.root.childNodes.length > this.settledNodes) this.root.lastChild.remove();
    if (begin < 0) {
      this.code = null;
      return;
    }
    this.append(tokens.slice(0, begin), tokens.slice(begin));
    this.settle(rest, tokens[begin].map[0]);
  }

  // Returns whether the last block is code that a token continues.
  growCode(token) {
    const isSame =
      this.code !== null &&
      token.type === "fence" &&
      this.root.childNodes.length === this.settledNodes + 1 &&
      token.content.startsWith(this.code.text) &&
      languageOf(token) === this.code.language;
    if (isSame) this.code.grow(token.content);
    return isSame;
  }

  append(settled, last) {
    const before = elementsOf(settled, this.most);
    const after = elementsOf(last, this.most);
    this.isSettledCut ||= before.isCut;
    this.rest.hidden = !this.isSettledCut && !after.isCut;
    this.settledNodes += before.fragment.childNodes.length;
    this.root.append(before.fragment, after.fragment);
    this.code = after.code;
  }

  // Settles the first lines of the rest of the text.
  settle(rest, lines) {
    let end = 0;
    for (let line = 0; line < lines; ++line) end = rest.indexOf("\n", end) + 1;
    const text = rest.slice(0, end);
    if (text.includes("]:")) [, this.references] = tokensOf(text, this.references);
    this.settled += text;
  }

  // Call it when the text has ended: links may have been used before their definition.
  finish() {
    const text = this.shown;
    if (this.updates < 2 || !text.includes("]:")) return;
    this.clear();
    this.update(text);
  }
}
