// The side with the list of conversations. On a narrow screen it opens over the page.
import { at } from "./element.js";

export const isSideOpen = () => document.body.classList.contains("side-open");

function setSide(isOpen) {
  document.body.classList.toggle("side-open", isOpen);
  at("open-side").setAttribute("aria-expanded", String(isOpen));
  at("veil").hidden = !isOpen;
  at("column").inert = isOpen;
}

export function closeSide() {
  if (!isSideOpen()) return;
  setSide(false);
  at("open-side").focus();
}

export function startSide() {
  at("open-side").addEventListener("click", () => {
    setSide(true);
    at("close-side").focus();
  });
  at("close-side").addEventListener("click", closeSide);
  at("veil").addEventListener("click", closeSide);
  matchMedia("(min-width: 52.01rem)").addEventListener("change", (event) => {
    if (event.matches) setSide(false);
  });
}
