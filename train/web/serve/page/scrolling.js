// Keeps the newest text in view while people look at it.
import { at } from "./element.js";

let follows = true; // whether the newest text is kept in view

const isAtEnd = () => at("frame").scrollHeight - at("frame").scrollTop - at("frame").clientHeight < 60;

export function toEnd() {
  at("frame").scrollTop = at("frame").scrollHeight;
  follows = true;
  at("jump").hidden = true;
}

export function keepInView() {
  if (follows) at("frame").scrollTop = at("frame").scrollHeight;
  else at("jump").hidden = isAtEnd();
}

function onScroll() {
  follows = isAtEnd();
  at("jump").hidden = follows;
  document.querySelector(".bar").classList.toggle("lined", at("frame").scrollTop > 0);
}

export function startScrolling() {
  at("frame").addEventListener("scroll", onScroll, { passive: true });
  new ResizeObserver(keepInView).observe(at("frame"));
  at("jump").addEventListener("click", () => {
    toEnd();
    at("prompt").focus();
  });
}
