// A block of code that can grow, with a button that copies it.
import { element } from "./element.js";
import { appendText, GrowingText } from "./marked_text.js";
import { copyButton } from "./copy_button.js";

export class CodeBlock {
  constructor(language, text) {
    this.language = language;
    const name = element("span", { dir: "auto" });
    const code = element("code");
    this.code = new GrowingText(code);
    this.node = element(
      "div",
      { class: "code" },
      element(
        "div",
        { class: "code-head" },
        name,
        copyButton(() => this.text, "Copy the code", true),
      ),
      element("pre", { tabindex: "0", role: "group", "aria-label": "Code" }, code),
    );
    appendText(name, language || "code");
    this.grow(text);
  }

  get text() {
    return this.code.text;
  }

  grow(text) {
    this.code.update(text);
  }
}
