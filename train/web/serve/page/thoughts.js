// Splits what a model wrote into its thoughts and its answer.

const BEGIN = "<think>";
const END = "</think>";

const withoutSpace = (text) => text.replace(/^\s+/, "");

// The thoughts are between <think> and </think> at the beginning, or before a </think> whose beginning is in the template.
export function splitThought(content) {
  const begin = /^\s*<think>/.exec(content);
  const end = content.indexOf(END);
  const text = () => withoutSpace(content.slice(end + END.length));
  if (begin && end < 0) return { thought: content.slice(begin[0].length), text: "", thinks: true };
  if (begin) return { thought: content.slice(begin[0].length, end), text: text(), thinks: false };
  const thought = content.slice(0, Math.max(0, end));
  if (end >= 0 && !thought.includes(BEGIN) && !thought.includes("`")) return { thought, text: text(), thinks: false };
  const mayBegin = content.trim() !== "" && BEGIN.startsWith(content.trim());
  return { thought: "", text: mayBegin ? "" : content, thinks: false };
}
