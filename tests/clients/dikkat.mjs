// dikkat, as the tests of other programs call it.
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

export const kSteps = 50;
export const kPrompt = "The king said that";

/// The commands of a program.
export class Dikkat {
  constructor(program) {
    this.program = program;
  }

  /// Returns what a command prints. Throws if it fails.
  run(...words) {
    return execFileSync(this.program, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /// Returns {status, stdout, stderr} of a command that may fail, with `input` as its standard input.
  attempt(words, input = "") {
    return spawnSync(this.program, words, { encoding: "utf8", input });
  }

  ids_of(model, text) {
    return JSON.parse(this.run("tokenizer", "encode", model, "--text", text, "--json"));
  }

  /// Returns the most likely text: {tokens, text, probabilities}.
  greedy(model, { prompt = kPrompt, steps = kSteps, options = [] } = {}) {
    const sample = JSON.parse(
      this.run(
        "sample",
        model,
        "--prompt",
        prompt,
        "--temperature",
        "0",
        "--max-new-tokens",
        `${steps}`,
        "--ignore-end",
        "--json",
        "--logprobs",
        ...options,
      ),
    ).samples[0];
    return { tokens: sample.tokens, text: sample.text, probabilities: sample.log_probabilities.map(Math.exp) };
  }

  /// Returns a rendered conversation: {text, ids}. `file`: where to write its variables. Without `template`, it is the model's own.
  render(model, variables, file, template) {
    writeFileSync(file, JSON.stringify(variables));
    return JSON.parse(this.run("tokenizer", "render", model, "--messages", file, "--json", ...(template ? ["--template", template] : [])));
  }
}

export const largest = (a, b) => Math.max(...a.map((x, i) => Math.abs(x - b[i])));
