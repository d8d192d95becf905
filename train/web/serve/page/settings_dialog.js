// The dialog with the settings of requests, the system message of the conversation and the key.
import { at, element } from "./element.js";
import { notice } from "./notices.js";
import { apiKey, setApiKey } from "./storage.js";
import { NUMBERS, keepSettings } from "./settings.js";
import { config, save, state } from "./page.js";
import { loadModels } from "./models.js";
import { removeAll } from "./conversations.js";

function fieldOf({ name, label, step, low, high, usual, hint }) {
  const field = element("input", {
    id: `set-${name}`,
    inputmode: "decimal",
    type: "number",
    step: "any",
    min: low,
    max: high,
    placeholder: usual,
    "aria-describedby": `hint-${name}`,
    "data-step": step,
    oninput: readSettingsFields,
  });
  const below = element("p", { class: "hint", id: `hint-${name}` }, hint);
  return element("div", { class: "field" }, element("label", { for: field.id }, label), field, below);
}

function expectedOf({ low, high, whole }) {
  return `expected ${whole ? "a whole number " : ""}${high >= 1e9 ? `from ${low} on` : `from ${low} to ${high}`}`;
}

// Returns the number of a field, or null if it is empty or has none that is in range. The field is marked if it has a wrong one.
function readNumber(number) {
  const { name, low, high, whole, hint } = number;
  const field = at(`set-${name}`);
  const isEmpty = field.value.trim() === "" && !field.validity.badInput;
  const value = Number(field.value);
  const fits = !field.validity.badInput && value >= low && value <= high && (!whole || Number.isInteger(value));
  const isWrong = !isEmpty && !fits;
  const below = at(`hint-${name}`);
  field.setAttribute("aria-invalid", String(isWrong));
  below.textContent = isWrong ? expectedOf(number) : hint;
  below.classList.toggle("bad", isWrong);
  return isEmpty || !fits ? null : value;
}

function readSettingsFields() {
  state.settings = { thinking: at("thinking").value };
  for (const number of NUMBERS) {
    const value = readNumber(number);
    if (value !== null) state.settings[number.name] = value;
  }
  if (!keepSettings(state.settings)) notice("The browser's storage is full, so the settings are not kept.");
}

function showSettings() {
  const isText = state.current.mode === "text";
  for (const { name } of NUMBERS) at(`set-${name}`).value = state.settings[name] ?? "";
  at("thinking").value = state.settings.thinking;
  at("system").value = state.current.system;
  at("system").disabled = isText;
  at("thinking-field").hidden = !config.thinking || isText;
  at("api-key").value = apiKey();
  readSettingsFields();
}

export function startSettings() {
  // Opening and closing
  const dialog = at("settings");
  at("numbers").replaceChildren(...NUMBERS.map(fieldOf));
  at("open-settings").addEventListener("click", () => {
    showSettings();
    dialog.showModal();
  });
  at("close-settings").addEventListener("click", () => dialog.close());
  at("settings-form").addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener("close", () => {
    save(state.current);
    at("prompt").focus();
  });

  // Its fields and buttons
  at("system").addEventListener("input", () => {
    state.current.system = at("system").value;
  });
  at("thinking").addEventListener("change", readSettingsFields);
  at("api-key").addEventListener("change", () => {
    setApiKey(at("api-key").value);
    loadModels();
  });
  at("reset").addEventListener("click", () => {
    state.settings = { thinking: "" };
    showSettings();
  });
  at("delete-all").addEventListener("click", () => {
    dialog.close();
    removeAll();
  });
}
