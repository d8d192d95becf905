// Shows a message of the user, which can be edited.
import { at, button, element, iconButton } from "./element.js";
import { plural } from "./words.js";
import { announce } from "./notices.js";
import { growField, isSendKey } from "./fields.js";
import { appendText } from "./marked_text.js";
import { copyButton } from "./copy_button.js";
import { running } from "./page.js";
import { begin } from "./answers.js";

export class UserView {
  constructor(conversation, message) {
    Object.assign(this, { conversation, message });
    this.node = element("article", { class: "message user" });
    this.show();
  }

  get index() {
    return this.conversation.messages.indexOf(this.message);
  }

  // The shown parts of the message. While it is edited, its form stays until these change.
  get content() {
    const { message, conversation } = this;
    const isFirst = conversation.from > 0 && this.index === conversation.from;
    return JSON.stringify([message.content, isFirst, conversation.mode]);
  }

  update() {
    if (this.content !== this.shown) this.show();
  }

  show() {
    this.shown = this.content;
    const [text, isFirst, mode] = JSON.parse(this.shown);
    const label = mode === "text" ? "Your text" : "You";
    const bubble = element("div", { class: "bubble", dir: "auto" });
    appendText(bubble, text);
    const edit = iconButton("edit", "Edit and ask again", () => this.edit());
    const copy = copyButton(() => this.message.content, "Copy");
    this.node.setAttribute("aria-label", label);
    this.node.replaceChildren(
      element("h2", { class: "hidden" }, label),
      ...(isFirst ? [element("p", { class: "cut" }, "The messages above are no longer sent.")] : []),
      bubble,
      element("div", { class: "actions" }, edit, copy),
    );
  }

  edit() {
    if (running.has(this.conversation.id)) {
      announce("Stop the answer first.");
      return;
    }
    const area = element("textarea", { "aria-label": "Edited message", dir: "auto" });
    area.value = this.message.content;
    this.node.replaceChildren(this.formAround(area));
    growField(area);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }

  formAround(area) {
    // Make the form.
    const after = this.conversation.messages.length - this.index - 2;
    const hint = after > 0 ? element("span", { class: "hint" }, `${plural(after, "later message")} will be removed.`) : null;
    const cancel = button("Cancel", () => this.leaveEdit());
    const send = element("button", { type: "submit", class: "primary" }, "Ask again");
    const form = element("form", { class: "edit" }, area, element("div", { class: "row end" }, hint, cancel, send));

    // Let it send or leave.
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send(area.value);
    });
    area.addEventListener("keydown", (event) => {
      if (isSendKey(event)) {
        event.preventDefault();
        this.send(area.value);
      } else if (event.key === "Escape") {
        event.stopPropagation();
        this.leaveEdit();
      }
    });
    return form;
  }

  leaveEdit() {
    this.show();
    this.node.querySelector("button").focus();
  }

  // Asks again with another text. The later messages are removed.
  send(text) {
    const { conversation } = this;
    if (text.trim() === "") return;
    this.message.content = text;
    conversation.messages.length = this.index + 1;
    if (conversation.from > this.index) conversation.from = 0;
    this.show();
    at("prompt").focus();
    begin(conversation);
  }
}
