// A button that copies a text.
import { element, icon } from "./element.js";
import { announce } from "./notices.js";

// Returns whether the text was copied.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text); // only on this machine or with TLS
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text) {
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

// A button that copies text() and shows for a moment that it did.
export function copyButton(text, label, hasWords = false) {
  const made = element("button", { type: "button", class: hasWords ? "" : "icon", "aria-label": label, title: label });
  const show = (name, word) => made.replaceChildren(icon(name), ...(hasWords ? [word] : []));
  show("copy", "Copy");
  made.addEventListener("click", async () => {
    const done = await copyText(text());
    show(done ? "check" : "close", done ? "Copied" : "Not copied");
    announce(done ? "Copied." : "The browser does not let this page copy.");
    setTimeout(() => show("copy", "Copy"), 1500);
  });
  return made;
}
