// Makes elements. What is not an element becomes text, so no text is ever read as markup.

export const at = (id) => document.getElementById(id);

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

export const button = (words, act, attributes = {}) => element("button", { type: "button", onclick: act, ...attributes }, words);

// The paths of icons, in a square of 24 units.
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
  good: "M7 11v9H4v-9zM7 11l4-8c2 0 3 1 3 3l-.6 4H19c1.300 0 2.200 1.200 1.900 2.500l-1.400 6c-.2.900-1 1.500-1.900 1.500H7",
  bad: "M17 13V4h3v9zM17 13l-4 8c-2 0-3-1-3-3l.6-4H5c-1.300 0-2.200-1.200-1.900-2.500l1.400-6C4.700 4.600 5.500 4 6.400 4H17",
};

export function icon(name) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  picture.append(path);
  return picture;
}

export const iconButton = (name, label, act, attributes = {}) =>
  button(icon(name), act, { class: "icon", "aria-label": label, title: label, ...attributes });
