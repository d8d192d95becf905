// Functions that all pages share. Texts of runs and models are inserted with textContent, never as markup.
"use strict";

const NONE = "–";

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

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const count = (value) => (isNumber(value) ? value.toLocaleString("en") : NONE);
const fixed = (value, digits = 4) => (isNumber(value) ? value.toFixed(digits) : NONE);
const significant = (value) => (isNumber(value) ? String(Number(value.toPrecision(4))) : NONE);

function scaled(value, units, base) {
  if (!isNumber(value)) return NONE;
  let at = 0;
  while (Math.abs(value) >= base && at < units.length - 1) {
    value /= base;
    ++at;
  }
  return `${Number(value.toPrecision(at === 0 ? 6 : 3))}${units[at]}`;
}
const bytes = (value) => scaled(value, [" B", " kB", " MB", " GB", " TB"], 1000);
const short = (value) => scaled(value, ["", "k", "M", "G"], 1000);

function duration(seconds) {
  if (!isNumber(seconds)) return NONE;
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}

const date = (seconds) =>
  isNumber(seconds) && Math.abs(seconds) < 8e12 ? new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : NONE;

function plusMinus(value, error) {
  return isNumber(error) && isNumber(value) ? `${fixed(value)} ± ${fixed(error)}` : fixed(value);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Returns black or white, whichever has more contrast on a color (red, green and blue from 0 to 255): always at least 4.5 : 1 (WCAG 2.2,
// 1.4.3).
function lettersOn(rgb) {
  const [red, green, blue] = rgb.map((value) => (value <= 10 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 ? "#fff" : "#000";
}

// A bar whose length is a share, from 0 to 1, of `width` pixels.
function bar(share, width = 100) {
  const made = element("span", { class: "bar", "aria-hidden": "true" });
  made.style.width = `${Math.max(1, share * width)}px`;
  return made;
}

// A table. Each of `columns` is [heading, "number" | "text" | ""]. With the layout "stacked", each row becomes a list of cells with their
// headings on a narrow screen, so that no column is cut off.
function table(caption, columns, rows, layout = "") {
  return element(
    "div",
    { class: `table ${layout}` },
    element(
      "table",
      {},
      caption ? element("caption", {}, caption) : null,
      element("thead", {}, element("tr", {}, ...columns.map(([name, kind]) => element("th", { class: kind, scope: "col" }, name)))),
      element(
        "tbody",
        {},
        ...rows.map(({ cells, style }) =>
          element(
            "tr",
            { class: style || "" },
            ...cells.map((cell, i) => element("td", { class: columns[i][1], "data-heading": columns[i][0] }, cell == null ? NONE : cell)),
          ),
        ),
      ),
    ),
  );
}

// Makes the button switch between dark and light. `act` draws the page again.
function onTheme(act) {
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    act();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", act);
}
