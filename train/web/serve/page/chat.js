// The chat page: lists what is drawn again after each change of the state, and starts the parts. Texts of models, servers and files are
// inserted as text, never as markup.
import { at, icon } from "./element.js";
import { notice } from "./notices.js";
import { startDialogs } from "./dialogs.js";
import { isComposing } from "./fields.js";
import { kept } from "./storage.js";
import { keep } from "./conversation_store.js";
import { onChange, running, state } from "./page.js";
import { loadModels } from "./models.js";
import { followOtherTabs, showNew } from "./conversations.js";
import { keepInView, startScrolling, toEnd } from "./scrolling.js";
import { showFigures } from "./figures.js";
import { showMessages, viewOf } from "./messages.js";
import { closeSide, isSideOpen, startSide } from "./side.js";
import { showList, startList } from "./list.js";
import { showHead, showModels, startHead } from "./head.js";
import { showComposer, startComposer, stop } from "./composer.js";
import { startSettings } from "./settings_dialog.js";
import { startTheme } from "./theme.js";

function draw(...parts) {
  for (const part of parts) part();
}

function showFrame() {
  draw(showHead, showComposer, showFigures);
}

function drawChanges() {
  const drawIfCurrent = (conversation, ...parts) => {
    if (conversation === state.current) draw(...parts);
  };
  onChange("current", () => {
    at("log").replaceChildren();
    draw(showMessages, showList, showFrame, toEnd);
  });
  onChange("begun", (conversation) => {
    drawIfCurrent(conversation, showMessages, showFrame, toEnd);
    showList();
  });
  onChange("grown", (conversation, message) => drawIfCurrent(conversation, () => viewOf(conversation, message).later()));
  onChange("ended", (conversation) => {
    drawIfCurrent(conversation, showMessages, showFrame, keepInView);
    showList();
  });
  onChange("chosen", showMessages);
  onChange("named", () => draw(showList, showFrame));
  onChange("list", showList);
  onChange("models", () => draw(showModels, showFrame));
  onChange("model", showFrame);
}

function nameIconButtons() {
  document.querySelectorAll("[data-icon]").forEach((one) => one.prepend(icon(one.dataset.icon)));
  document.querySelectorAll("button.icon[aria-label], button.round").forEach((one) => {
    one.title = one.getAttribute("aria-label");
  });
}

// Escape closes what is open, or stops the answer.
function followEscape() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || isComposing(event) || document.querySelector("dialog[open]")) return;
    if (isSideOpen()) closeSide();
    else if (running.has(state.current.id)) stop();
  });
}

// A page that is closed keeps what its answers had: their requests end, and must not be saved as errors.
function followLeaving() {
  window.addEventListener("pagehide", () => {
    running.forEach(({ conversation }) => keep(conversation));
    state.isLeaving = true;
  });
  window.addEventListener("pageshow", () => {
    state.isLeaving = false;
  });
}

drawChanges();
nameIconButtons();
draw(startTheme, startDialogs, startScrolling, startSide, startList, startHead, startComposer, startSettings);
draw(followEscape, followLeaving, followOtherTabs);
showNew();
if (kept.isMemory) notice("The browser does not let this page keep anything: conversations are lost when it is closed.");
loadModels();
at("prompt").focus();
