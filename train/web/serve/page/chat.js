// The chat page. Texts of models, servers and files are inserted as text, never as markup.
"use strict";

const at = (id) => document.getElementById(id);
const config = { feedback: false, chat: true, thinking: false, ...parsed(at("config").textContent) };
const conversations = new Map(allKept().map((one) => [one.id, one]));
const running = new Map(); // the Answer of each conversation that is being answered
const views = new WeakMap(); // of messages
let current = null;
let settings = readSettings();
let models = []; // of the server: {id, context_length}
let isLeaving = false; // the page is being closed, which ends its requests
let follows = true; // whether the newest text is kept in view

// ---- Small things ---------------------------------------------------------------------------------------------------------------------------

const count = (value) => value.toLocaleString("en");
const plural = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
const seconds = (value) =>
  value < 10
    ? `${value.toFixed(value < 1 ? 2 : 1)} s`
    : value < 90
      ? `${Math.round(value)} s`
      : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
const rateText = (value) => `${value >= 100 ? count(Math.round(value)) : value.toFixed(1)} tokens/s`;

// Says something to people who hear the page.
function announce(text) {
  at("status").textContent = "";
  setTimeout(() => {
    at("status").textContent = text;
  }, 50);
}

function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = text === "";
  if (text) announce(text);
}

// Asks in a dialog. Returns the text of its field ("" without a field), or null if it is left.
function askUser({ title, text = "", yes, label = "", value = "", type = "text", danger = false }) {
  at("ask-title").textContent = title;
  at("ask-text").textContent = text;
  at("ask-text").hidden = text === "";
  at("ask-yes").textContent = yes;
  at("ask-yes").className = danger ? "danger" : "primary";
  at("ask-field").hidden = label === "";
  at("ask-label").textContent = label;
  Object.assign(at("ask-input"), { value, type, name: type });
  return new Promise((done) => {
    const dialog = at("ask");
    let answer = null;
    at("ask-form").onsubmit = (event) => {
      event.preventDefault();
      answer = label === "" ? "" : at("ask-input").value;
      dialog.close();
    };
    at("ask-no").onclick = () => dialog.close();
    dialog.onclose = () => done(answer);
    dialog.showModal();
    if (label !== "") at("ask-input").select();
    else at("ask-no").focus();
  });
}

function growField(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
}

const isComposing = (event) => event.isComposing || event.keyCode === 229;
const isAtEnd = () => at("frame").scrollHeight - at("frame").scrollTop - at("frame").clientHeight < 60;

function toEnd() {
  at("frame").scrollTop = at("frame").scrollHeight;
  follows = true;
  at("jump").hidden = true;
}

function save(conversation) {
  if (conversation.messages.length === 0 || isLeaving || !conversations.has(conversation.id)) return;
  if (!keep(conversation)) {
    notice("The browser's storage for this page is full, so this conversation is not kept: export and delete some.");
  }
}

// ---- Messages -------------------------------------------------------------------------------------------------------------------------------

class UserView {
  constructor(conversation, message) {
    Object.assign(this, { conversation, message });
    this.node = element("article", { class: "message user" });
    this.show();
  }
  get index() {
    return this.conversation.messages.indexOf(this.message);
  }
  show() {
    const bubble = element("div", { class: "bubble", dir: "auto" });
    appendText(bubble, this.message.content);
    this.shown = this.message.content;
    this.isFirst = this.conversation.from > 0 && this.index === this.conversation.from;
    this.node.setAttribute("aria-label", this.conversation.mode === "text" ? "Your text" : "You");
    this.node.replaceChildren(
      element("h2", { class: "hidden" }, this.node.getAttribute("aria-label")),
      ...(this.isFirst ? [element("p", { class: "cut" }, "The messages above are no longer sent.")] : []),
      bubble,
      element(
        "div",
        { class: "actions" },
        iconButton("edit", "Edit and ask again", () => this.edit()),
        copyButton(() => this.message.content, "Copy"),
      ),
    );
  }
  update() {
    if (this.shown !== this.message.content || this.isFirst !== (this.conversation.from > 0 && this.index === this.conversation.from))
      this.show();
  }
  edit() {
    if (running.has(this.conversation.id)) {
      announce("Stop the answer first.");
      return;
    }
    const area = element("textarea", { "aria-label": "Edited message", dir: "auto" });
    area.value = this.message.content;
    const after = this.conversation.messages.length - this.index - 2;
    const leave = () => {
      this.show();
      this.node.querySelector("button").focus();
    };
    const finish = () => {
      if (area.value.trim() === "") return;
      this.message.content = area.value;
      this.show();
      this.conversation.messages.length = this.index + 1;
      if (this.conversation.from > this.index) this.conversation.from = 0;
      at("prompt").focus();
      begin(this.conversation);
    };
    const form = element(
      "form",
      {
        class: "edit",
        onsubmit: (event) => {
          event.preventDefault();
          finish();
        },
      },
      area,
      element(
        "div",
        { class: "row end" },
        after > 0 ? element("span", { class: "hint" }, `${plural(after, "later message")} will be removed.`) : null,
        element("button", { type: "button", onclick: leave }, "Cancel"),
        element("button", { type: "submit", class: "primary" }, "Ask again"),
      ),
    );
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !isComposing(event)) {
        event.preventDefault();
        finish();
      } else if (event.key === "Escape") {
        event.stopPropagation();
        leave();
      }
    });
    this.node.replaceChildren(form);
    growField(area);
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
  }
}

class AnswerView {
  constructor(conversation, message) {
    Object.assign(this, { conversation, message, timer: 0, cost: 0 });
    this.label = element("span");
    this.inner = element("div", { class: "inner", dir: "auto" });
    this.thought = element("details", { class: "thought" }, element("summary", {}, icon("right"), this.label), this.inner);
    this.text = element("div", { class: "text" });
    this.markdown = new MarkdownView(this.text);
    this.wait = element("span", { class: "waiting", "aria-hidden": "true" }, element("i"), element("i"), element("i"));
    this.after = element("div");
    this.node = element(
      "article",
      { class: "message answer" },
      element("h2", { class: "hidden" }, "Answer"),
      this.thought,
      this.text,
      this.markdown.rest,
      this.wait,
      this.after,
    );
    this.thoughtShown = "";
    this.plain = "";
    this.update();
  }
  get index() {
    return this.conversation.messages.indexOf(this.message);
  }

  // Draws soon: at most ten times a second, and so seldom that drawing takes at most a third of the time.
  later() {
    if (this.timer) return;
    this.timer = setTimeout(
      () => {
        this.timer = 0;
        if (current !== this.conversation) return;
        const began = performance.now();
        this.update();
        showFigures();
        keepInView();
        this.cost = performance.now() - began;
      },
      Math.max(100, 2 * this.cost),
    );
  }

  update() {
    const variant = shownOf(this.message);
    const isRunning = variant.ending === null;
    const isText = this.conversation.mode === "text";
    const split = isText ? { thought: "", text: variant.content, thinks: false } : splitThought(variant.content);
    const thought = (variant.reasoning + split.thought).trim();
    this.node.setAttribute("aria-label", isText ? "Continuation" : `Answer of ${variant.model || "the model"}`);

    // Thoughts
    this.thought.hidden = thought === "";
    const thinks = isRunning && (split.thinks || (variant.reasoning !== "" && split.text.trim() === ""));
    this.thought.classList.toggle("running", thinks);
    const label = thinks
      ? "Thinking"
      : variant.thought !== null
        ? `Thought for ${variant.thought < 1 ? "a moment" : seconds(variant.thought)}`
        : "Thoughts";
    if (this.label.textContent !== label) this.label.textContent = label;
    if (!thought.startsWith(this.thoughtShown)) {
      this.inner.replaceChildren();
      this.thoughtShown = "";
    }
    appendText(this.inner, thought.slice(this.thoughtShown.length));
    this.thoughtShown = thought;

    // Text
    this.text.classList.toggle("plain", isText);
    this.text.classList.toggle("large", split.text.length > 200_000);
    if (isText) {
      if (!split.text.startsWith(this.plain)) {
        this.text.replaceChildren();
        this.plain = "";
      }
      appendText(this.text, split.text.slice(this.plain.length));
      this.plain = split.text;
    } else {
      this.markdown.update(split.text);
      if (!isRunning) this.markdown.finish();
    }
    this.wait.hidden = !isRunning || split.text !== "" || thought !== "";

    // What is below it
    const state = JSON.stringify([
      this.message.shown,
      this.message.variants.length,
      variant.ending,
      variant.error,
      variant.rating,
      this.index === this.conversation.messages.length - 1,
    ]);
    if (state !== this.state) {
      this.state = state;
      this.after.replaceChildren(...(isRunning ? [] : this.below(variant, split.text.trim() === "" && thought === "")));
      this.after.hidden = isRunning;
    }
  }

  below(variant, isEmpty) {
    const isLast = this.index === this.conversation.messages.length - 1;
    const parts = [];
    const room = contextOf(variant.model);
    const isFull =
      room !== null &&
      variant.usage !== null &&
      variant.ending === "length" &&
      variant.usage.prompt_tokens + variant.usage.completion_tokens >= room;
    const canContinue =
      isLast &&
      !isEmpty &&
      !isFull &&
      ["length", "stopped", "lost", "error"].includes(variant.ending) &&
      variant.request !== null &&
      (variant.seed !== null || this.conversation.mode === "text");
    const goOn = () =>
      canContinue ? element("button", { type: "button", class: "small", onclick: () => proceed(this.conversation) }, "Continue") : null;
    const repeat = () => element("button", { type: "button", onclick: () => begin(this.conversation) }, "Try again");

    if (variant.error) {
      const buttons = element("div", { class: "row" });
      if (isLast) {
        if (
          variant.error.code === "context_length_exceeded" &&
          this.conversation.mode !== "text" &&
          this.conversation.messages.length - this.conversation.from > 2
        ) {
          buttons.append(
            element(
              "button",
              { type: "button", onclick: () => leaveOutOldest(this.conversation) },
              "Try again without the oldest messages",
            ),
          );
        } else if (variant.error.status === 401) {
          buttons.append(element("button", { type: "button", onclick: () => askForKey(this.conversation) }, "Enter the API key"));
        } else {
          buttons.append(repeat());
        }
        if (canContinue) buttons.append(goOn());
      }
      const words = element("p");
      appendText(words, variant.error.message);
      parts.push(
        element(
          "div",
          { class: "error", role: "group", "aria-label": "Error" },
          element(
            "strong",
            {},
            variant.ending === "lost" ? "The answer is incomplete" : variant.error.status === 503 ? "The server is busy" : "No answer",
          ),
          words,
          buttons,
        ),
      );
    } else if (variant.ending === "length") {
      parts.push(
        element(
          "p",
          { class: "ending" },
          isFull
            ? "The answer ends here because the model's context is full."
            : "The answer ends here because it has reached the limit of its length.",
          goOn(),
        ),
      );
    } else if (variant.ending === "stopped") {
      parts.push(element("p", { class: "ending" }, "Stopped.", goOn()));
    } else if (variant.ending === "lost") {
      parts.push(element("p", { class: "ending" }, "The answer is incomplete: the page was closed meanwhile.", goOn()));
    } else if (isEmpty) {
      parts.push(element("p", { class: "ending" }, "The answer is empty."));
    }

    const actions = element("div", { class: "actions" });
    if (this.message.variants.length > 1) {
      const show = (step) => {
        this.message.shown += step;
        this.state = "";
        showMessages();
        save(this.conversation);
        this.node.querySelector(step < 0 ? "[data-step=before]" : "[data-step=after]").focus();
      };
      const free = isLast && !running.has(this.conversation.id);
      actions.append(
        element(
          "span",
          { class: "which" },
          iconButton("left", "Answer before", () => this.message.shown > 0 && show(-1), {
            "data-step": "before",
            "aria-disabled": String(!free || this.message.shown === 0),
            disabled: !free,
          }),
          element("span", {}, `${this.message.shown + 1} / ${this.message.variants.length}`),
          iconButton("right", "Next answer", () => this.message.shown < this.message.variants.length - 1 && show(1), {
            "data-step": "after",
            "aria-disabled": String(!free || this.message.shown === this.message.variants.length - 1),
            disabled: !free,
          }),
        ),
      );
    }
    if (!isEmpty) actions.append(copyButton(() => splitThought(variant.content).text, "Copy the answer"));
    if (isLast && !(variant.error && isEmpty)) actions.append(iconButton("again", "Another answer", () => again(this.conversation)));
    if (config.feedback && !isEmpty && ["stop", "length"].includes(variant.ending)) {
      for (const [name, label, value] of [
        ["good", "Good answer", true],
        ["bad", "Bad answer", false],
      ]) {
        actions.append(
          iconButton(name, label, () => this.rate(variant, value), {
            "aria-pressed": String(variant.rating === value),
            "data-rating": name,
          }),
        );
      }
    }
    if (variant.rate !== null && variant.usage)
      actions.append(element("span", { class: "what" }, `${plural(variant.usage.completion_tokens, "token")}, ${rateText(variant.rate)}`));
    if (actions.childNodes.length > 0) parts.push(actions);
    return parts;
  }

  async rate(variant, label) {
    if (variant.rating === label) return;
    const { conversation } = this;
    const isText = conversation.mode === "text";
    const answer = { role: "assistant", content: variant.content, ...(variant.reasoning ? { reasoning_content: variant.reasoning } : {}) };
    try {
      await request("POST", "feedback", {
        prompt: isText ? textOf(conversation, this.index) : messagesOf(conversation, this.index, variant.system, variant.from),
        completion: isText ? variant.content : [answer],
        label,
        model: variant.model,
      });
      variant.rating = label;
      save(conversation);
      this.update();
      this.node.querySelector(`[data-rating=${label ? "good" : "bad"}]`)?.focus();
      notice("");
      announce(label ? "Noted as a good answer." : "Noted as a bad answer.");
    } catch (error) {
      notice(`The rating was not noted. ${error.message}`);
    }
  }
}

function viewOf(conversation, message) {
  if (!views.has(message))
    views.set(message, message.role === "user" ? new UserView(conversation, message) : new AnswerView(conversation, message));
  return views.get(message);
}

// Shows the messages of the current conversation. Those that are shown already stay where they are.
function showMessages() {
  const log = at("log");
  const nodes = current.messages.map((message) => {
    const view = viewOf(current, message);
    view.update();
    return view.node;
  });
  nodes.forEach((node, i) => {
    if (log.children[i] !== node) log.insertBefore(node, log.children[i] || null);
  });
  while (log.children.length > nodes.length) log.lastChild.remove();
  at("welcome").hidden = nodes.length > 0;
}

function keepInView() {
  if (follows) at("frame").scrollTop = at("frame").scrollHeight;
  else at("jump").hidden = isAtEnd();
}

// ---- The frame ------------------------------------------------------------------------------------------------------------------------------

function contextOf(name) {
  const model = models.find(({ id }) => id === name) || models[0];
  return model && isNumber(model.context_length) ? model.context_length : null;
}

// The line under the prompt: the speed of the last answer, and how much of the context is used.
function showFigures() {
  const last = current.messages.findLast((message) => message.role === "assistant" && shownOf(message).usage !== null);
  const variant = last ? shownOf(last) : null;
  const answer = running.get(current.id);
  const name = modelName();
  const parts = [models.length > 1 ? "" : name];
  if (answer) {
    if (answer.tokens === 0) parts.push("waiting for the first word");
    else if (answer.rate) parts.push(rateText(answer.rate), plural(answer.tokens, "token"));
  } else if (variant && variant.rate !== null) {
    parts.push(rateText(variant.rate), ...(variant.first !== null ? [`first after ${seconds(variant.first)}`] : []));
  }
  at("speed").replaceChildren(
    ...parts
      .filter((part) => part)
      .map((part, i) => element("span", { class: part.startsWith("first") ? "extra" : "" }, `${i > 0 ? " · " : ""}${part}`)),
  );
  const room = contextOf(name);
  const used = variant
    ? variant.usage.prompt_tokens +
      (answer && answer.variant === variant ? 0 : variant.usage.completion_tokens) +
      (answer ? answer.tokens : 0)
    : null;
  at("room").hidden = room === null || used === null;
  if (room !== null && used !== null) {
    at("room-text").textContent = `${count(used)} of ${count(room)} tokens`;
    const bar = at("room-bar");
    bar.setAttribute("aria-valuemax", room);
    bar.setAttribute("aria-valuenow", Math.min(used, room));
    bar.setAttribute("aria-valuetext", `${count(used)} of ${count(room)} tokens`);
    bar.firstElementChild.style.width = `${Math.min(100, (100 * used) / room)}%`;
    at("room").classList.toggle("full", used > 0.9 * room);
  }
}

function showList() {
  const focused = document.activeElement && document.activeElement.closest("#list li");
  const [id, part] = focused ? [focused.dataset.id, document.activeElement.dataset.part] : [];
  const all = [...conversations.values()].filter((one) => one.messages.length > 0).sort((a, b) => b.updated - a.updated);
  at("list").replaceChildren(
    ...all.map((one) => {
      const title = titleOf(one);
      const open = element("button", {
        class: "open",
        type: "button",
        "data-part": "open",
        dir: "auto",
        "aria-current": one === current ? "true" : null,
        onclick: () => {
          show(one);
          closeSide();
          at("prompt").focus();
        },
      });
      appendText(open, title);
      return element(
        "li",
        { "data-id": one.id, class: `${one === current ? "current" : ""} ${running.has(one.id) ? "busy" : ""}` },
        open,
        iconButton("edit", `Rename: ${title}`, () => rename(one), { "data-part": "rename" }),
        iconButton("trash", `Delete: ${title}`, () => remove(one), { "data-part": "delete" }),
      );
    }),
  );
  if (id)
    at("list")
      .querySelector(`[data-id="${CSS.escape(id)}"] [data-part=${part}]`)
      ?.focus();
}

function showFrame() {
  const title = titleOf(current);
  at("title").replaceChildren();
  appendText(at("title"), title);
  document.title = current.messages.length ? `${title} – dikkat` : "dikkat";
  const isText = current.mode === "text";
  at("welcome-title").textContent = modelName() || "dikkat";
  at("welcome-text").textContent = isText
    ? "This model takes no conversations. It continues the text that you write."
    : "Write a message to begin. Conversations stay in this browser.";
  at("prompt").placeholder = isText
    ? current.messages.length
      ? "Add text, or send nothing to continue"
      : "Begin a text"
    : "Write a message";
  at("prompt-label").textContent = isText ? "Text" : "Message";
  const isRunning = running.has(current.id);
  at("send").hidden = isRunning;
  at("stop").hidden = !isRunning;
  at("send").disabled = at("prompt").value.trim() === "" && !(isText && current.messages.length > 0);
  at("log").setAttribute("aria-busy", String(isRunning));
  showFigures();
}

function show(conversation) {
  current = conversation;
  at("log").replaceChildren();
  showMessages();
  showList();
  showFrame();
  toEnd();
}

const modelName = () => (models.some(({ id }) => id === current.model) ? current.model : (models[0] || {}).id || "");

function fresh() {
  const mode = config.chat ? "chat" : "text";
  show(newConversation(mode, current ? current.system : "", current ? current.model : ""));
  notice("");
}

function setSide(open) {
  document.body.classList.toggle("side-open", open);
  at("open-side").setAttribute("aria-expanded", String(open));
  at("veil").hidden = !open;
  at("column").inert = open;
}
function closeSide() {
  if (document.body.classList.contains("side-open")) {
    setSide(false);
    at("open-side").focus();
  }
}

// ---- Answers --------------------------------------------------------------------------------------------------------------------------------

function requestOf(conversation) {
  const { thinking, ...numbers } = settings;
  const body = { model: modelName() || undefined, ...numbers };
  if (config.thinking && thinking && conversation.mode !== "text") body.enable_thinking = thinking === "on";
  if (conversation.mode === "text" && !body.max_tokens) body.max_tokens = 256;
  return body;
}

// Answers the last message of the user. An answer that has nothing is replaced.
function begin(conversation) {
  const last = conversation.messages.at(-1);
  let message = last;
  if (!last || last.role !== "assistant") {
    message = { role: "assistant", shown: 0, variants: [] };
    conversation.messages.push(message);
  } else if (shownOf(last).content + shownOf(last).reasoning === "") {
    message.variants.splice(message.shown, 1);
  }
  const variant = {
    ...newVariant(),
    model: modelName(),
    system: conversation.mode === "text" ? "" : conversation.system,
    from: conversation.from,
    request: requestOf(conversation),
  };
  if (isNumber(variant.request.seed)) variant.request.seed += message.variants.length; // another answer, not the same one
  message.shown = message.variants.push(variant) - 1;
  run(conversation, variant, false);
}

// Writes another answer to the same message.
function again(conversation) {
  if (!running.has(conversation.id)) begin(conversation);
}

// Continues an answer that was interrupted or has reached its limit.
function proceed(conversation) {
  const variant = shownOf(conversation.messages.at(-1));
  if (running.has(conversation.id)) return;
  if (variant.ending === "length" && conversation.mode !== "text" && variant.request.max_tokens) {
    variant.request.max_tokens += settings.max_tokens || 256;
  }
  run(conversation, variant, true);
}

async function run(conversation, variant, continues) {
  const index = conversation.messages.length - 1;
  const message = conversation.messages[index];
  let saved = performance.now();
  const answer = new Answer(conversation, index, variant, () => {
    if (performance.now() - saved > 2000) {
      save(conversation);
      saved = performance.now();
    }
    if (current !== conversation) return;
    viewOf(conversation, message).later();
  });
  running.set(conversation.id, answer);
  conversations.set(conversation.id, conversation);
  conversation.updated = Date.now();
  conversation.model = variant.model;
  save(conversation);
  notice("");
  if (current === conversation) {
    showMessages();
    showFrame();
    toEnd();
  }
  showList();
  announce("The model answers.");
  await answer.run(continues);

  running.delete(conversation.id);
  conversation.updated = Date.now();
  if (conversations.has(conversation.id)) save(conversation);
  if (current === conversation) {
    showMessages();
    showFrame();
    keepInView();
  }
  showList();
  if (variant.error && variant.error.code === "no_chat_template" && conversation.messages.length === 2) {
    config.chat = false;
    conversation.mode = "text";
    Object.assign(conversation, { system: "", messages: conversation.messages.slice(0, 1) });
    views.delete(conversation.messages[0]);
    if (current === conversation) {
      at("log").replaceChildren();
      notice("This model takes no conversations, so it continues the text.");
    }
    const said = at("notice").textContent;
    begin(conversation);
    if (current === conversation) notice(said);
    return;
  }
  if (variant.error && variant.error.status === 401 && current === conversation) {
    askForKey(conversation);
    return;
  }
  announce(variant.error ? `Error: ${variant.error.message}` : variant.ending === "stopped" ? "Stopped." : "The answer is complete.");
}

function leaveOutOldest(conversation) {
  conversation.from += 2;
  begin(conversation);
}

async function askForKey(conversation) {
  const key = await askUser({
    title: "API key",
    text: "This server requires a key (--api-key). It is forgotten when this tab is closed.",
    label: "Key",
    type: "password",
    yes: "Use the key",
  });
  if (!key) return;
  session.setItem(KEY, key);
  await loadModels();
  if (conversation && !running.has(conversation.id) && conversation.messages.length > 0 && shownOf(conversation.messages.at(-1)).error)
    begin(conversation);
}

function sendMessage() {
  const text = at("prompt").value;
  const isText = current.mode === "text";
  if (running.has(current.id) || (text.trim() === "" && !(isText && current.messages.length > 0))) return;
  const last = current.messages.at(-1);
  if (last && last.role === "assistant") {
    const isEmpty = shownOf(last).content + shownOf(last).reasoning === "";
    if (isEmpty && !isText) {
      // the message was never answered: the new one is sent in its place, together with it
      current.messages.pop();
      const before = current.messages.pop();
      current.messages.push({ role: "user", content: `${before.content}\n\n${text}` });
    } else if (isEmpty) {
      current.messages.pop();
      if (text !== "") current.messages.push({ role: "user", content: text });
    } else {
      current.messages.push({ role: "user", content: text });
    }
  } else {
    current.messages.push({ role: "user", content: text });
  }
  at("prompt").value = "";
  growField(at("prompt"));
  begin(current);
}

// ---- Conversations --------------------------------------------------------------------------------------------------------------------------

async function rename(conversation) {
  const title = await askUser({ title: "Rename the conversation", label: "Name", value: titleOf(conversation), yes: "Rename" });
  if (title === null) return;
  conversation.title = title.trim().slice(0, 200);
  save(conversation);
  showList();
  showFrame();
}

async function remove(conversation) {
  if (
    (await askUser({
      title: "Delete the conversation?",
      text: `“${titleOf(conversation)}” will be gone.`,
      yes: "Delete",
      danger: true,
    })) === null
  )
    return;
  running.get(conversation.id)?.stop();
  conversations.delete(conversation.id);
  forget(conversation);
  if (conversation === current) fresh();
  else showList();
  at("new").focus();
}

function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

async function importFile(file) {
  try {
    const made = imported(await file.text());
    made.forEach((one) => {
      conversations.set(one.id, one);
      save(one);
    });
    if (made.length > 0) show(made[0]);
    notice(`${plural(made.length, "conversation")} imported.`);
  } catch (error) {
    notice(error.message);
  }
}

// ---- Settings -------------------------------------------------------------------------------------------------------------------------------

function makeNumbers() {
  at("numbers").replaceChildren(
    ...NUMBERS.map(({ name, label, step, low, high, usual, hint }) => {
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
      });
      field.addEventListener("input", () => readNumbers());
      return element(
        "div",
        { class: "field" },
        element("label", { for: field.id }, label),
        field,
        element("p", { class: "hint", id: `hint-${name}` }, hint),
      );
    }),
  );
}

// Takes the numbers that are in range. Others are marked and have no effect.
function readNumbers() {
  settings = { thinking: at("thinking").value };
  for (const { name, low, high, whole, hint } of NUMBERS) {
    const field = at(`set-${name}`);
    const value = field.value.trim() === "" && !field.validity.badInput ? null : Number(field.value);
    const fits = value === null || (!field.validity.badInput && value >= low && value <= high && (!whole || Number.isInteger(value)));
    field.setAttribute("aria-invalid", String(!fits));
    const below = at(`hint-${name}`);
    below.textContent = fits
      ? hint
      : `expected ${whole ? "a whole number " : ""}${high >= 1e9 ? `from ${low} on` : `from ${low} to ${high}`}`;
    below.classList.toggle("bad", !fits);
    if (fits && value !== null) settings[name] = value;
  }
  try {
    kept.setItem(SETTINGS, JSON.stringify(settings));
  } catch {
    notice("The browser's storage is full, so the settings are not kept.");
  }
}

function showSettings() {
  for (const { name } of NUMBERS) at(`set-${name}`).value = settings[name] ?? "";
  at("thinking").value = settings.thinking;
  at("system").value = current.system;
  at("system").disabled = current.mode === "text";
  at("thinking-field").hidden = !config.thinking || current.mode === "text";
  at("api-key").value = session.getItem(KEY) || "";
  readNumbers();
}

// ---- The server -----------------------------------------------------------------------------------------------------------------------------

async function loadModels() {
  try {
    const { data } = await (await request("GET", "v1/models")).json();
    models = Array.isArray(data) ? data.filter((one) => one && isText(one.id)) : [];
    at("model").hidden = models.length < 2;
    at("model").replaceChildren(...models.map(({ id }) => element("option", { value: id }, id)));
    at("model").value = modelName();
    showFrame();
  } catch (error) {
    if (error.status === 401) await askForKey(null);
    else notice(error.message);
  }
}

// ---- Events ---------------------------------------------------------------------------------------------------------------------------------

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

setTheme(["dark", "light"].includes(kept.getItem(THEME)) ? kept.getItem(THEME) : "");
document.querySelectorAll("[data-icon]").forEach((one) => one.prepend(icon(one.dataset.icon)));
document.querySelectorAll("button.icon[aria-label], button.round").forEach((one) => {
  one.title = one.getAttribute("aria-label");
});
at("base-url").textContent = new URL("v1", location.href).href;
makeNumbers();

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  sendMessage();
});
at("prompt").addEventListener("input", () => {
  growField(at("prompt"));
  showFrame();
});
at("prompt").addEventListener("keydown", (event) => {
  if (isComposing(event)) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    sendMessage();
  } else if (event.key === "ArrowUp" && at("prompt").value === "") {
    const last = current.messages.findLast((message) => message.role === "user");
    if (last) {
      event.preventDefault();
      viewOf(current, last).edit();
    }
  }
});
const stop = () => {
  running.get(current.id)?.stop();
  at("prompt").focus();
};
at("stop").addEventListener("click", stop);
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || isComposing(event) || document.querySelector("dialog[open]")) return;
  if (document.body.classList.contains("side-open")) closeSide();
  else if (running.has(current.id)) stop();
});
at("frame").addEventListener(
  "scroll",
  () => {
    follows = isAtEnd();
    at("jump").hidden = follows;
    document.querySelector(".bar").classList.toggle("lined", at("frame").scrollTop > 0);
  },
  { passive: true },
);
new ResizeObserver(keepInView).observe(at("frame"));
at("jump").addEventListener("click", () => {
  toEnd();
  at("prompt").focus();
});
at("new").addEventListener("click", () => {
  fresh();
  closeSide();
  at("prompt").focus();
});
at("open-side").addEventListener("click", () => {
  setSide(true);
  at("close-side").focus();
});
at("close-side").addEventListener("click", closeSide);
at("veil").addEventListener("click", closeSide);
matchMedia("(min-width: 52.01rem)").addEventListener("change", (event) => {
  if (event.matches) setSide(false);
});
at("theme").addEventListener("click", () => {
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  setTheme(isDark ? "light" : "dark");
  try {
    kept.setItem(THEME, isDark ? "light" : "dark");
  } catch {
    /* only the theme */
  }
});
at("model").addEventListener("change", () => {
  current.model = at("model").value;
  save(current);
  showFrame();
});
at("open-settings").addEventListener("click", () => {
  showSettings();
  at("settings").showModal();
});
at("close-settings").addEventListener("click", () => at("settings").close());
at("settings-form").addEventListener("submit", (event) => {
  event.preventDefault();
  at("settings").close();
});
at("settings").addEventListener("close", () => {
  save(current);
  at("prompt").focus();
});
at("system").addEventListener("input", () => {
  current.system = at("system").value;
});
at("thinking").addEventListener("change", readNumbers);
at("api-key").addEventListener("change", () => {
  if (at("api-key").value) session.setItem(KEY, at("api-key").value);
  else session.removeItem(KEY);
  loadModels();
});
at("reset").addEventListener("click", () => {
  settings = { thinking: "" };
  showSettings();
});
at("delete-all").addEventListener("click", async () => {
  at("settings").close();
  if (
    (await askUser({
      title: "Delete all conversations?",
      text: `${plural([...conversations.values()].filter((one) => one.messages.length).length, "conversation")} will be gone.`,
      yes: "Delete all",
      danger: true,
    })) === null
  )
    return;
  running.forEach((answer) => answer.stop());
  conversations.forEach(forget);
  conversations.clear();
  fresh();
});
for (const dialog of document.querySelectorAll("dialog")) {
  // a click beside it
  dialog.addEventListener("mousedown", (event) => {
    const box = dialog.getBoundingClientRect();
    if (
      event.target === dialog &&
      (event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom)
    )
      dialog.close();
  });
}
at("about").addEventListener("click", () => at("about-dialog").showModal());
at("close-about").addEventListener("click", () => at("about-dialog").close());
at("export").addEventListener("click", () =>
  download("conversations.jsonl", exported([...conversations.values()].sort((a, b) => a.updated - b.updated))),
);
at("import").addEventListener("click", () => at("import-file").click());
at("import-file").addEventListener("change", () => {
  if (at("import-file").files.length) importFile(at("import-file").files[0]);
  at("import-file").value = "";
});
window.addEventListener("pagehide", () => {
  running.forEach(({ conversation }) => keep(conversation));
  isLeaving = true;
});
window.addEventListener("pageshow", () => {
  isLeaving = false;
});
window.addEventListener("storage", (event) => {
  // another tab
  if (event.key === null || !event.key.startsWith(PREFIX)) return;
  const id = event.key.slice(PREFIX.length);
  const value = event.newValue === null ? null : readConversation(parsed(event.newValue));
  if (running.has(id)) return;
  if (value) conversations.set(id, value);
  else conversations.delete(id);
  if (current.id === id) {
    if (value) show(value);
    else fresh();
  } else {
    showList();
  }
});

fresh();
if (kept.isMemory) notice("The browser does not let this page keep anything: conversations are lost when it is closed.");
loadModels();
at("prompt").focus();
