// Dark or light: as the system is, unless one was chosen.
import { at } from "./element.js";
import { keepText, kept } from "./storage.js";

const NAME = "dikkat.chat.theme";
const THEMES = ["dark", "light"];

const themeOfSystem = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function onButton() {
  const theme = document.documentElement.dataset.theme || themeOfSystem();
  const other = THEMES.find((one) => one !== theme);
  document.documentElement.dataset.theme = other;
  keepText(NAME, other);
}

export function startTheme() {
  const theme = kept.getItem(NAME);
  if (THEMES.includes(theme)) document.documentElement.dataset.theme = theme;
  at("theme").addEventListener("click", onButton);
}
