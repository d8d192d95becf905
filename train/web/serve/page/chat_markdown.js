// Shows Markdown that a model wrote. The parser's tokens become elements one by one, so no text is ever read as markup. Nothing is loaded: an image becomes
// a link, and links have only the schemes below.
"use strict";

const SCHEMES = ["http:", "https:", "mailto:"];
const MOST_ELEMENTS = 5000; // of a block, such as a table; the others are shown on request
const MOST_MARKS = 500; // of control characters in a block
const MOST_NAMES = 8; // of control characters in a mark
const LONGEST_PARAGRAPH = 50_000; // characters; longer ones are shown without emphasis and links, because finding them takes long

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

const ICONS = {
  lines: "M4 7h16M4 12h11M4 17h6",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  menu: "M4 6h16M4 12h16M4 18h16",
  up: "M12 19V5M6 11l6-6 6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  stop: "M6 6h12v12H6z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 13l4 4L19 7",
  again: "M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v6M14 11v6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  sliders: "M4 8h9M19 8h1M4 16h3M13 16h7M16 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5M10 13.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5",
  contrast: "M20.500 14.200A8.500 8.500 0 1 1 9.800 3.500a6.800 6.800 0 0 0 10.700 10.700z",
  play: "M7 5l12 7-12 7z",
  good: "M7 11v9H4v-9zM7 11l4-8c2 0 3 1 3 3l-.6 4H19c1.300 0 2.200 1.200 1.900 2.500l-1.400 6c-.2.900-1 1.500-1.900 1.500H7",
  bad: "M17 13V4h3v9zM17 13l-4 8c-2 0-3-1-3-3l.6-4H5c-1.300 0-2.200-1.200-1.900-2.500l1.400-6C4.700 4.600 5.500 4 6.400 4H17",
};

function icon(name) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  picture.append(path);
  return picture;
}

const iconButton = (name, label, act, attributes = {}) =>
  element("button", { class: "icon", type: "button", "aria-label": label, title: label, onclick: act, ...attributes }, icon(name));

// Control characters, and those that change the direction of the text around them: they are made visible, so that a text cannot pretend to be another one.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;

const nameOf = (character) => `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// Appends a text. A run of control characters is one mark, also if it comes in parts. Browsers take long to place many marks, so only the first `limits.marks`
// are made, and replacement characters stand for the others.
function appendText(parent, text, limits = { marks: MOST_MARKS - parent.childElementCount }) {
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
    if (limits.marks <= 0) {
      parent.append("\ufffd".repeat(run.length));
      continue;
    }
    --limits.marks;
    const names = `${Array.from(run.slice(0, MOST_NAMES), nameOf).join(" ")}${run.length > MOST_NAMES ? ` … (${run.length.toLocaleString("en")})` : ""}`;
    const mark = element("span", { class: "control", title: `control character${run.length === 1 ? "" : "s"} ${names}` }, names);
    mark.run = run;
    parent.append(mark);
  }
  appendPlain(text.length);
}

// Returns an absolute address with one of the schemes, or null.
function safeUrl(text) {
  try {
    const url = new URL(text);
    return SCHEMES.includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const markdown = markdownit({ html: false, linkify: false, typographer: false, breaks: true });
markdown.validateLink = (url) => safeUrl(url) !== null;
markdown.core.ruler.at("inline", (state) => {
  for (const token of state.tokens) {
    if (token.type !== "inline") continue;
    if (token.content.length > LONGEST_PARAGRAPH) {
      const text = new state.Token("text", "", 0);
      text.content = token.content;
      token.children.push(text);
    } else {
      state.md.inline.parse(token.content, state.md, state.env, token.children);
    }
  }
});

const TAGS = {
  paragraph: "p",
  blockquote: "blockquote",
  bullet_list: "ul",
  ordered_list: "ol",
  list_item: "li",
  table: "table",
  thead: "thead",
  tbody: "tbody",
  tr: "tr",
  th: "th",
  td: "td",
  em: "em",
  strong: "strong",
  s: "s",
};
const HEADINGS = { h1: "h3", h2: "h4", h3: "h5", h4: "h6", h5: "h6", h6: "h6" }; // below those of the page

function linkTo(url, ...children) {
  const safe = safeUrl(url || "");
  return safe
    ? element("a", { href: safe, target: "_blank", rel: "noopener noreferrer nofollow", title: safe }, ...children)
    : element("span", {}, ...children);
}

// Makes the element that a token opens. Returns [the outer element, the element that takes the content].
function opened(token) {
  const kind = token.type.replace(/_open$/, "");
  if (kind === "heading") {
    const made = element(HEADINGS[token.tag] || "h6", { dir: "auto" });
    return [made, made];
  }
  if (kind === "link") {
    const made = linkTo(token.attrGet("href"));
    return [made, made];
  }
  if (kind === "table") {
    const made = element("table");
    return [element("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, made), made];
  }
  const made = element(TAGS[kind] || "span");
  if (kind === "paragraph" || kind === "list_item" || kind === "th" || kind === "td") made.dir = "auto";
  if (kind === "ordered_list" && /^\d+$/.test(token.attrGet("start") ?? "")) made.start = Number(token.attrGet("start"));
  if (kind === "th" || kind === "td") {
    const align = /text-align:\s*(left|right|center)/.exec(token.attrGet("style") || "");
    if (align) made.style.textAlign = align[1];
  }
  return [made, made];
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text); // only on this machine or with TLS
    return true;
  } catch {
    const area = element("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = text;
    const before = document.activeElement;
    (document.querySelector("dialog[open]") || document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (before) before.focus({ preventScroll: true });
    return done;
  }
}

// A button that copies text() and shows for a moment that it did.
function copyButton(text, label, words) {
  const button = element("button", { type: "button", class: words ? "" : "icon", "aria-label": label, title: label });
  const show = (name, word) => button.replaceChildren(icon(name), ...(words ? [word] : []));
  show("copy", "Copy");
  button.addEventListener("click", async () => {
    const done = await copyText(text());
    show(done ? "check" : "close", done ? "Copied" : "Not copied");
    announce(done ? "Copied." : "The browser does not let this page copy.");
    setTimeout(() => show("copy", "Copy"), 1500);
  });
  return button;
}

// A block of code that can grow.
class CodeBlock {
  constructor(language, text) {
    this.language = language;
    this.text = "";
    this.code = element("code");
    this.node = element(
      "div",
      { class: "code" },
      element(
        "div",
        { class: "code-head" },
        element("span", { dir: "auto" }),
        copyButton(() => this.text, "Copy the code", true),
      ),
      element("pre", { tabindex: "0", role: "group", "aria-label": "Code" }, this.code),
    );
    appendText(this.node.querySelector(".code-head span"), language || "code");
    this.grow(text);
  }
  grow(text) {
    appendText(this.code, text.slice(this.text.length));
    this.text = text;
  }
}

// Appends the elements of tokens, until limits.elements have been made.
function appendInline(parent, tokens, limits) {
  const open = [parent];
  for (const token of tokens) {
    const top = open[open.length - 1];
    if (token.nesting >= 0 && token.type !== "text" && --limits.elements < 0) return;
    if (token.nesting > 0) {
      const [outer, inner] = opened(token);
      top.append(outer);
      open.push(inner);
    } else if (token.nesting < 0) {
      if (open.length > 1) open.pop();
    } else if (token.type === "softbreak" || token.type === "hardbreak") {
      top.append(element("br"));
    } else if (token.type === "code_inline") {
      const code = element("code");
      appendText(code, token.content, limits);
      top.append(code);
    } else if (token.type === "image") {
      const name = element("span");
      appendText(name, `image: ${token.content || token.attrGet("src") || ""}`, limits);
      top.append(top.closest("a") ? name : linkTo(token.attrGet("src"), name));
    } else {
      appendText(top, token.content, limits);
    }
  }
}

// Makes the elements of tokens, at most `most` for each block at the top. Returns [fragment, the CodeBlock that is the last top-level block, or null, whether
// elements are missing].
function elementsOf(tokens, most) {
  const fragment = document.createDocumentFragment();
  let open = [fragment],
    last = null,
    limits = null,
    isCut = false;
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) {
      last = null;
      open = [fragment];
      limits = { elements: most, marks: MOST_MARKS };
    }
    if (token.nesting >= 0 && token.type !== "inline") --limits.elements;
    if (limits.elements < 0) {
      isCut = true;
      continue;
    }
    const top = open[open.length - 1];
    if (token.type === "inline") {
      appendInline(top, token.children, limits);
    } else if (token.nesting > 0) {
      if (token.hidden) {
        // a paragraph of a list without empty lines
        open.push(top);
      } else {
        const [outer, inner] = opened(token);
        top.append(outer);
        open.push(inner);
      }
    } else if (token.nesting < 0) {
      if (open.length > 1) open.pop();
    } else if (token.type === "fence" || token.type === "code_block") {
      const block = new CodeBlock(token.info.trim().split(/\s+/)[0].slice(0, 60), token.content);
      top.append(block.node);
      if (token.level === 0) last = block;
    } else if (token.type === "hr") {
      top.append(element("hr"));
    } else {
      appendText(top, token.content, limits);
    }
  }
  return [fragment, last, isCut];
}

// Shows a text that grows. Blocks before the last one cannot change any more, so only the last one is read again. `rest` is an element for below the text: it
// offers to show all of blocks that have too many elements.
class MarkdownView {
  constructor(root) {
    this.root = root;
    this.most = MOST_ELEMENTS;
    this.rest = element(
      "p",
      { class: "rest" },
      "A part of this answer is very large, so only its beginning is shown. ",
      element("button", { type: "button", class: "small", onclick: () => this.showAll() }, "Show all"),
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
    const text = raw.replace(/\r\n?/g, "\n");
    if (text === this.shown) return;
    if (!text.startsWith(this.settled)) this.clear();
    this.shown = text;
    const rest = text.slice(this.settled.length);
    const tokens = markdown.parse(rest, { references: { ...this.references } });
    ++this.updates;
    let begin = -1;
    tokens.forEach((token, i) => {
      if (token.level === 0 && token.nesting >= 0 && token.map) begin = i;
    });
    if (begin < 0) {
      while (this.root.childNodes.length > this.settledNodes) this.root.lastChild.remove();
      this.code = null;
      return;
    }
    const last = tokens[begin];
    if (
      begin === 0 &&
      this.code &&
      last.type === "fence" &&
      this.root.childNodes.length === this.settledNodes + 1 &&
      last.content.startsWith(this.code.text) &&
      last.info.trim().split(/\s+/)[0].slice(0, 60) === this.code.language
    ) {
      this.code.grow(last.content);
      return;
    }
    while (this.root.childNodes.length > this.settledNodes) this.root.lastChild.remove();
    const [before, , isCut] = elementsOf(tokens.slice(0, begin), this.most);
    const [after, code, isLastCut] = elementsOf(tokens.slice(begin), this.most);
    this.isSettledCut ||= isCut;
    this.rest.hidden = !this.isSettledCut && !isLastCut;
    this.settledNodes += before.childNodes.length;
    this.root.append(before, after);
    this.code = code;
    let offset = 0;
    for (let line = 0; line < last.map[0]; ++line) offset = rest.indexOf("\n", offset) + 1;
    const settles = rest.slice(0, offset);
    if (settles.includes("]:")) {
      const found = { references: { ...this.references } };
      markdown.parse(settles, found);
      this.references = found.references;
    }
    this.settled += settles;
  }
  // Call it when the text has ended: links may have been used before their definition.
  finish() {
    const text = this.shown;
    if (this.updates < 2 || !text.includes("]:")) return;
    this.clear();
    this.update(text);
  }
}

// Splits what a model wrote into its thoughts and its answer: <think>...</think> at the beginning, or a </think> whose beginning is in the template.
function splitThought(content) {
  const begin = /^\s*<think>/.exec(content);
  const end = content.indexOf("</think>");
  if (begin) {
    return end < 0
      ? { thought: content.slice(begin[0].length), text: "", thinks: true }
      : { thought: content.slice(begin[0].length, end), text: content.slice(end + 8).replace(/^\s+/, ""), thinks: false };
  }
  if (end >= 0 && !content.slice(0, end).includes("<think>") && !content.slice(0, end).includes("`")) {
    return { thought: content.slice(0, end), text: content.slice(end + 8).replace(/^\s+/, ""), thinks: false };
  }
  return { thought: "", text: "<think>".startsWith(content.trim()) && content.trim() ? "" : content, thinks: false };
}
