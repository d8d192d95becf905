// Reads Markdown. The parser's tokens become elements one by one, so no text is ever read as markup. Nothing is loaded: an image becomes a
// link, and links have only the schemes below.
import { element } from "./element.js";
import { MOST_MARKS, appendText } from "./marked_text.js";
import { CodeBlock } from "./code_block.js";

const SCHEMES = ["http:", "https:", "mailto:"];
const LONGEST_PARAGRAPH = 50_000; // characters; longer ones are shown without emphasis and links, because finding them takes long

const markdown = markdownit({ html: false, linkify: false, typographer: false, breaks: true });
markdown.validateLink = (url) => safeUrl(url) !== null;
markdown.core.ruler.at("inline", (state) => {
  for (const token of state.tokens) {
    if (token.type !== "inline") continue;
    if (token.content.length <= LONGEST_PARAGRAPH) {
      state.md.inline.parse(token.content, state.md, state.env, token.children);
      continue;
    }
    const text = new state.Token("text", "", 0);
    text.content = token.content;
    token.children.push(text);
  }
});

// Returns [tokens, the link definitions in the text and those before it].
export function tokensOf(text, references) {
  const environment = { references: { ...references } };
  const tokens = markdown.parse(text, environment);
  return [tokens, environment.references];
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

function linkTo(url, ...children) {
  const safe = safeUrl(url || "");
  if (!safe) return element("span", {}, ...children);
  return element("a", { href: safe, target: "_blank", rel: "noopener noreferrer nofollow", title: safe }, ...children);
}

export const languageOf = (token) => token.info.trim().split(/\s+/)[0].slice(0, 60);

// The elements of tokens. Headings are below those of the page.
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
const HEADINGS = { h1: "h3", h2: "h4", h3: "h5", h4: "h6", h5: "h6", h6: "h6" };

const hasOwnDirection = (kind) => ["paragraph", "list_item", "th", "td"].includes(kind);

// Makes the element that a token opens. Returns [the outer element, the element that takes the content].
function opened(token) {
  const kind = token.type.replace(/_open$/, "");
  if (kind === "table") {
    const made = element("table");
    return [element("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Table" }, made), made];
  }
  let made;
  if (kind === "heading") made = element(HEADINGS[token.tag] || "h6", { dir: "auto" });
  else if (kind === "link") made = linkTo(token.attrGet("href"));
  else made = element(TAGS[kind] || "span", { dir: hasOwnDirection(kind) ? "auto" : null });
  if (kind === "ordered_list" && /^\d+$/.test(token.attrGet("start") ?? "")) made.start = Number(token.attrGet("start"));
  const align = kind === "th" || kind === "td" ? /text-align:\s*(left|right|center)/.exec(token.attrGet("style") || "") : null;
  if (align) made.style.textAlign = align[1];
  return [made, made];
}

// Opens or closes the element of a token in the list of open elements.
function nest(open, token) {
  if (token.nesting < 0) {
    if (open.length > 1) open.pop();
  } else if (token.hidden) {
    open.push(open.at(-1)); // a paragraph of a list without empty lines
  } else {
    const [outer, inner] = opened(token);
    open.at(-1).append(outer);
    open.push(inner);
  }
}

// Appends the elements of tokens inside of a block, until limits.elements have been made.
function appendInline(parent, tokens, limits) {
  const open = [parent];
  for (const token of tokens) {
    if (token.nesting >= 0 && token.type !== "text" && --limits.elements < 0) return;
    if (token.nesting !== 0) nest(open, token);
    else appendPart(open.at(-1), token, limits);
  }
}

// Appends what a token inside of a block stands for.
function appendPart(parent, token, limits) {
  if (token.type === "softbreak" || token.type === "hardbreak") {
    parent.append(element("br"));
  } else if (token.type === "code_inline") {
    const code = element("code");
    appendText(code, token.content, limits);
    parent.append(code);
  } else if (token.type === "image") {
    const name = element("span");
    appendText(name, `image: ${token.content || token.attrGet("src") || ""}`, limits);
    parent.append(parent.closest("a") ? name : linkTo(token.attrGet("src"), name));
  } else {
    appendText(parent, token.content, limits);
  }
}

// Appends what a token that contains no others stands for. Returns the block of code, if it is one.
function appendBlock(parent, token, limits) {
  if (token.type === "fence" || token.type === "code_block") {
    const block = new CodeBlock(languageOf(token), token.content);
    parent.append(block.node);
    return block;
  }
  if (token.type === "inline") appendInline(parent, token.children, limits);
  else if (token.type === "hr") parent.append(element("hr"));
  else appendText(parent, token.content, limits);
  return null;
}

// Makes the elements of tokens, at most `most` for each block at the top. Returns {fragment, code: the CodeBlock that is the last block at
// the top, or null, isCut: whether elements are missing}.
export function elementsOf(tokens, most) {
  const fragment = document.createDocumentFragment();
  let open = [fragment];
  let limits = null;
  let code = null;
  let isCut = false;
  for (const token of tokens) {
    // Begin a block at the top, and count the elements.
    if (token.level === 0 && token.nesting >= 0) {
      open = [fragment];
      limits = { elements: most, marks: MOST_MARKS };
      code = null;
    }
    if (token.nesting >= 0 && token.type !== "inline") --limits.elements;
    if (limits.elements < 0) {
      isCut = true;
      continue;
    }

    // Make the element.
    if (token.nesting !== 0) {
      nest(open, token);
    } else {
      const block = appendBlock(open.at(-1), token, limits);
      if (token.level === 0) code = block;
    }
  }
  return { fragment, code, isCut };
}
