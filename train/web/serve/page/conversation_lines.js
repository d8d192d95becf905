// Conversations as lines of JSON, in the format that `dikkat finetune --data` reads.
import { isText, parsed } from "./values.js";
import { messageWithThoughts, newConversation, newVariant, shownOf, textOf } from "./conversation.js";

function lineOf(conversation) {
  if (conversation.mode === "text") return JSON.stringify({ text: textOf(conversation, conversation.messages.length) });
  const system = conversation.system ? [{ role: "system", content: conversation.system }] : [];
  const messages = conversation.messages
    .map((message) => (message.role === "user" ? { role: "user", content: message.content } : messageWithThoughts(shownOf(message))))
    .filter((message) => message.role === "user" || message.content || message.reasoning_content);
  return JSON.stringify({ messages: [...system, ...messages] });
}

export function exported(conversations) {
  return conversations
    .filter((one) => one.messages.length > 0)
    .map((one) => `${lineOf(one)}\n`)
    .join("");
}

// Adds a message of a line to a conversation. Returns false if it is not one that may follow.
function addMessage(conversation, message) {
  const { messages } = conversation;
  if (!message || !isText(message.content)) return false;
  const { content } = message;
  if (message.role === "system" && messages.length === 0 && conversation.system === "") {
    conversation.system = content;
    return true;
  }
  if (message.role !== (messages.length % 2 === 0 ? "user" : "assistant")) return false;
  const reasoning = isText(message.reasoning_content) ? message.reasoning_content : "";
  if (message.role === "user") messages.push({ role: "user", content });
  else messages.push({ role: "assistant", shown: 0, variants: [{ ...newVariant(), content, reasoning, ending: "stop" }] });
  return true;
}

function conversationOf(line) {
  const value = parsed(line);
  const made = newConversation();
  if (value && isText(value.text)) return { ...made, mode: "text", messages: [{ role: "user", content: value.text }] };
  const isOne = value && Array.isArray(value.messages) && value.messages.every((message) => addMessage(made, message));
  return isOne && made.messages.length > 0 ? made : null;
}

// Reads such lines. Throws an Error that names the line.
export function imported(text) {
  return text.split(/\r?\n/).flatMap((line, i) => {
    if (line.trim() === "") return [];
    const made = conversationOf(line);
    if (made) return [made];
    const expected = 'expected {"messages": [...]} with messages of the user and the assistant in turn.';
    throw new Error(`Line ${i + 1} of the file is not a conversation, ${expected}`);
  });
}
