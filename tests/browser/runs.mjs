// Run directories for the browser's tests, with the files that `dikkat train` writes.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const HOSTILE = `"><img src=x onerror="window.attacked=1"><script>window.attacked=1</script>`;

// A noise that is the same in every run.
const noise = (step) => Math.sin(step * 12.9898) * 0.05;

export const line = (object) => JSON.stringify(object) + "\n";

export function stepLine(step, rate = 1e-3) {
  return {
    event: "step",
    step,
    loss: 1 + 3 * Math.exp(-step / 2000) + noise(step),
    grad_norm: 0.5 + Math.abs(noise(step * 7)),
    learning_rate: rate,
    tokens: 1024,
    ms: 20 + noise(step),
    optimizer_ms: 2,
    tokens_per_s: 51200,
    mfu: 0.5,
    time: 1795000000 + step * 0.02,
  };
}

// scored: the fingerprint of the scored tokens; without one, the line is that of an earlier version.
export function evaluationLine(step, shift = 0, scored = { targets: "a1", contexts: "b2", text: "c3" }) {
  return {
    event: "eval",
    step,
    train_loss: 1 + 3 * Math.exp(-step / 2000),
    val_loss: 1.1 + shift + 3 * Math.exp(-step / 2000),
    val_standard_error: 0.01,
    scored,
    ms: 100,
    memory: 50_000_000 + step,
    time: 1795000000 + step * 0.02,
  };
}

export function header(words = ["dikkat", "train"]) {
  return {
    event: "header",
    format: 1,
    step: 0,
    date: "2026-11-24T00:00:00Z",
    version: "0.1.0",
    commit: "c0ffee",
    command: words,
    host: "here",
    processor: "a processor",
    threads: 2,
    parameters: 11072,
    tokenizer: "char",
    vocab_size: 65,
    train_tokens: 100000,
    val_tokens: 10000,
    corpus: "abc",
    bytes_per_token: 1,
    time: 1795000000,
  };
}

// Makes a run with `steps` steps and an evaluation every `every` steps; `extra` are further lines.
export function makeRun(folder, name, { steps, every, rate = 1e-3, shift = 0, extra = [], config = "", scored }) {
  const run = join(folder, name);
  mkdirSync(join(run, "checkpoints"), { recursive: true });
  writeFileSync(join(run, "config.toml"), `[optim]\nlearning_rate = ${rate}\n[train]\nmax_steps = ${steps}\n${config}`);
  writeFileSync(join(run, "checkpoints", `step-${String(steps).padStart(9, "0")}.h5`), "not looked into");
  let text = line(header(["dikkat", "train", "--corpus", HOSTILE]));
  for (let step = 1; step <= steps; ++step) {
    text += line(stepLine(step, rate));
    if (step % every === 0) text += line(evaluationLine(step, shift, scored));
  }
  for (const object of extra) text += line(object);
  writeFileSync(join(run, "metrics.jsonl"), text);
  return run;
}
