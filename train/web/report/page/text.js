// Shows a text token by token: the probability of each token, the alternatives, and the attention to earlier tokens.
//
// data: {title, model, kind: "sample" or "eval", texts: [{name, tokens: [{t, n, p, given, a: [[name, p], ...]}],
// attention: {layers, heads, first, begin, weights}}]}
// A character that is split over tokens is in the text t of the last of them; n is a token's name, if it is not its text.
// p is a probability; it is null for a token with nothing before it. weights is base64 of bytes (layers, heads, T - first, T - begin): 255
// times the attention of the positions from `first` on to those from `begin` on.
"use strict";

const HOT = {
  light: [
    [255, 255, 255],
    [255, 214, 120],
    [238, 96, 60],
    [150, 20, 60],
  ],
  dark: [
    [28, 33, 40],
    [92, 74, 20],
    [150, 60, 30],
    [190, 30, 70],
  ],
};
const MOST = 8; // nats; higher losses have the last color

const state = { text: 0, chosen: -1, layer: "mean", head: "mean", mode: "loss" };
const spans = [];

const isDark = () =>
  document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;

// Returns the color (red, green and blue) for a share from 0 to 1.
function heat(share) {
  const stops = HOT[isDark() ? "dark" : "light"];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((value, i) => Math.round(value + (stops[low + 1][i] - value) * (at - low)));
}
const inCss = (rgb) => `rgb(${rgb.join(",")})`;

const loss = (token) => (isNumber(token.p) ? -Math.log(Math.max(token.p, 1e-30)) : null);

// Marks line breaks and tabs with visible signs.
function visible(text) {
  return text.replace(/\n/g, "↵\n").replace(/\t/g, "→\t");
}
const nameOf = (token) => token.n ?? token.t;
const named = (text) => text.replace(/\n/g, "↵").replace(/\t/g, "→").replace(/ /g, "␣") || "(empty)";

function weightsOf(text) {
  if (!text.attention) return null;
  if (!text.attention.bytes) {
    const characters = atob(text.attention.weights);
    text.attention.bytes = Uint8Array.from(characters, (one) => one.charCodeAt(0));
  }
  return text.attention.bytes;
}

// The attention weights of the position before token `i` to each position; null if they were not kept.
function lookOf(text, i) {
  const bytes = weightsOf(text);
  const query = i - 1;
  if (!bytes || query < text.attention.first) return null;
  const { layers, heads, first, begin } = text.attention;
  const time = text.tokens.length,
    keys = time - begin;
  const pick = (choice, count) => (choice === "mean" ? Array.from({ length: count }, (_, k) => k) : [Number(choice)]);
  const sums = new Array(time).fill(0);
  const chosenLayers = pick(state.layer, layers),
    chosenHeads = pick(state.head, heads);
  for (const layer of chosenLayers) {
    for (const head of chosenHeads) {
      const row = ((layer * heads + head) * (time - first) + (query - first)) * keys;
      for (let key = begin; key <= query; ++key) sums[key] += bytes[row + key - begin] / 255;
    }
  }
  return sums.map((sum) => sum / (chosenLayers.length * chosenHeads.length));
}

function paint() {
  const text = data.texts[state.text];
  const look = state.mode === "attention" && state.chosen > 0 ? lookOf(text, state.chosen) : null;
  const most = look ? Math.max(...look, 1e-6) : 1;
  text.tokens.forEach((token, i) => {
    const value = look ? look[i] / most : loss(token) === null ? 0 : loss(token) / MOST;
    const color = heat(value);
    spans[i].style.background = inCss(color);
    spans[i].style.color = lettersOn(color);
    spans[i].classList.toggle("chosen", i === state.chosen);
  });
}

function describe(i) {
  const text = data.texts[state.text],
    token = text.tokens[i];
  const place = document.getElementById("about");
  const rows = (token.a || []).map(([words, p]) => ({
    cells: [element("code", {}, named(words)), bar(p), `${(p * 100).toFixed(2)} %`],
    style: words === nameOf(token) ? "changed" : "",
  }));
  place.replaceChildren(
    element("h3", {}, `Token ${count(i)}: `, element("code", {}, named(nameOf(token)))),
    isNumber(token.p)
      ? element(
          "p",
          {},
          `probability ${(token.p * 100).toFixed(2)} %, loss ${fixed(loss(token), 3)} nats${token.given ? " (part of the prompt)" : ""}`,
        )
      : element("p", {}, "There is nothing before it."),
    rows.length
      ? table(
          "The most likely tokens here",
          [
            ["token", ""],
            ["", ""],
            ["probability", "number"],
          ],
          rows,
        )
      : "",
  );
}

function setMode(mode) {
  state.mode = mode;
  const box = document.getElementById("mode");
  if (box) box.value = mode;
}

function choose(i) {
  const text = data.texts[state.text];
  state.chosen = i;
  const kept = text.attention && i > 0 && i - 1 >= text.attention.first;
  setMode(kept ? "attention" : "loss");
  describe(i);
  if (text.attention && i > 0 && !kept) {
    document
      .getElementById("about")
      .append(
        element(
          "p",
          { class: "faint" },
          "The attention at this token is not in the page, which keeps only the last tokens of a long text.",
        ),
      );
  }
  paint();
}

function onKey(event) {
  const text = data.texts[state.text];
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move && event.key !== "Escape") return;
  event.preventDefault();
  if (event.key === "Escape") {
    setMode("loss");
    state.chosen = -1;
    paint();
    return;
  }
  const here = spans.indexOf(event.target);
  const next = Math.min(Math.max((here < 0 ? state.chosen : here) + move, 0), text.tokens.length - 1);
  choose(next);
  spans[next].focus();
}

function selection(label, id, values, value, act) {
  const select = element(
    "select",
    { id, onchange: () => act(select.value) },
    ...values.map((one) => element("option", { value: one, selected: String(one) === String(value) }, String(one))),
  );
  return element("label", {}, `${label} `, select);
}

function hardest(text) {
  const order = text.tokens
    .map((token, i) => [loss(token), i])
    .filter(([value]) => value !== null)
    .sort((a, b) => b[0] - a[0])
    .slice(0, 15);
  const around = (i) =>
    text.tokens
      .slice(Math.max(0, i - 12), i)
      .map((token) => token.t)
      .join("");
  return table(
    "The most surprising tokens",
    [
      ["loss", "number"],
      ["token", ""],
      ["after", "text"],
    ],
    order.map(([value, i]) => ({
      cells: [
        fixed(value, 2),
        element(
          "button",
          {
            type: "button",
            onclick: () => {
              choose(i);
              spans[i].scrollIntoView({ block: "center" });
            },
          },
          named(nameOf(text.tokens[i])),
        ),
        `…${around(i)}`,
      ],
    })),
  );
}

function draw() {
  const text = data.texts[state.text];
  document.title = `${data.title} – dikkat`;
  document.getElementById("title").textContent = data.title;
  document.getElementById("made").textContent = data.model;
  const losses = text.tokens
    .filter((token) => !token.given)
    .map(loss)
    .filter(isNumber);
  const mean = losses.reduce((a, b) => a + b, 0) / Math.max(losses.length, 1);
  spans.length = 0;
  const body = element("div", { class: "tokens", role: "group", "aria-label": "The text, token by token" });
  text.tokens.forEach((token, i) => {
    const value = loss(token);
    const span = element(
      "span",
      {
        class: token.given ? "token given" : "token",
        tabindex: i === 0 ? 0 : -1,
        role: "button",
        "aria-label": `${named(nameOf(token))}${value === null ? "" : `, loss ${fixed(value, 2)}`}`,
        onclick: () => choose(i),
        onfocus: () => describe(i),
        onmouseenter: () => describe(i),
      },
      visible(token.t) || "·",
    );
    spans.push(span);
    body.append(span);
  });
  body.addEventListener("keydown", onKey);
  const scale = element("span", { class: "scale", "aria-hidden": "true" });
  scale.style.background = `linear-gradient(to right, ${[0, 0.33, 0.67, 1].map(heat).map(inCss).join(",")})`;
  const layers = text.attention ? ["mean", ...Array(text.attention.layers).keys()] : [];
  const heads = text.attention ? ["mean", ...Array(text.attention.heads).keys()] : [];
  document.getElementById("main").replaceChildren(
    element(
      "p",
      {},
      `${count(losses.length)} tokens${data.kind === "sample" ? " generated" : ""}, mean loss ${fixed(mean)} nats.` +
        (data.note ? ` ${data.note}` : ""),
    ),
    element(
      "div",
      { class: "controls" },
      data.kind === "eval" ? element("strong", {}, text.name) : "",
      data.texts.length > 1
        ? selection(
            "Text",
            "which",
            data.texts.map((one) => one.name),
            text.name,
            (value) => {
              state.text = data.texts.findIndex((one) => one.name === value);
              state.chosen = -1;
              state.mode = "loss";
              draw();
            },
          )
        : "",
      text.attention
        ? selection("Colors show", "mode", ["loss", "attention"], state.mode, (value) => {
            state.mode = value;
            paint();
          })
        : "",
      text.attention
        ? selection("layer", "layer", layers, state.layer, (value) => {
            state.layer = value;
            paint();
          })
        : "",
      text.attention
        ? selection("head", "head", heads, state.head, (value) => {
            state.head = value;
            paint();
          })
        : "",
      element("span", { class: "faint" }, "0", scale, `${MOST} nats`),
      element(
        "span",
        { class: "faint" },
        text.attention
          ? "Click a token to see the model's attention when it predicted it. ← → move, Esc returns to the loss."
          : "Point at a token, or move with ← →.",
      ),
    ),
    element(
      "div",
      { class: "beside" },
      body,
      element("aside", { id: "about", "aria-live": "polite" }, element("p", { class: "faint" }, "No token is selected yet.")),
    ),
    element("h2", {}, "Where the model was wrong"),
    hardest(text),
  );
  paint();
}

const data = JSON.parse(document.getElementById("data").textContent);
draw();
onTheme(paint);
