// The settings of requests. Empty ones are left to the server.
import { isNumber, parsed } from "./values.js";
import { keepText, kept } from "./storage.js";

const NAME = "dikkat.chat.settings";

export const NUMBERS = [
  { name: "temperature", label: "Temperature", low: 0, high: 1000, step: 0.1, usual: "1", hint: "0: the likeliest" },
  { name: "top_p", label: "Top p", low: 0, high: 1, step: 0.05, usual: "1", hint: "share of likelihood kept" },
  { name: "top_k", label: "Top k", low: 0, high: 1e9, step: 1, whole: true, usual: "all", hint: "likeliest tokens kept" },
  { name: "min_p", label: "Min p", low: 0, high: 1, step: 0.05, usual: "0", hint: "times the likeliest" },
  { name: "max_tokens", label: "Longest answer", low: 1, high: 1e9, step: 1, whole: true, usual: "context", hint: "tokens" },
  { name: "repetition_penalty", label: "Repetition penalty", low: 0.01, high: 100, step: 0.05, usual: "1", hint: "above 1: fewer" },
  {
    name: "seed",
    label: "Seed",
    low: 0,
    high: Number.MAX_SAFE_INTEGER,
    step: 1,
    whole: true,
    usual: "random",
    hint: "same seed, same text",
  },
];

export function readSettings() {
  const value = parsed(kept.getItem(NAME)) || {};
  const settings = { thinking: ["on", "off"].includes(value.thinking) ? value.thinking : "" };
  for (const { name, low, high } of NUMBERS) {
    if (isNumber(value[name]) && value[name] >= low && value[name] <= high) settings[name] = value[name];
  }
  return settings;
}

// Returns whether there was room for the settings.
export const keepSettings = (settings) => keepText(NAME, JSON.stringify(settings));
