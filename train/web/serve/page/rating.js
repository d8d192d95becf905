// Sends ratings of answers to the server.
import { announce, notice } from "./notices.js";
import { messageWithThoughts, messagesOf, textOf } from "./conversation.js";
import { request } from "./server.js";
import { save } from "./page.js";

// `index` is that of the answer's message. Returns whether the rating was noted.
export async function rate(conversation, index, variant, isGood) {
  const isText = conversation.mode === "text";
  const prompt = isText ? textOf(conversation, index) : messagesOf(conversation, index, variant.system, variant.from);
  const completion = isText ? variant.content : [messageWithThoughts(variant)];
  try {
    await request("POST", "feedback", { prompt, completion, label: isGood, model: variant.model });
  } catch (error) {
    notice(`The rating was not noted. ${error.message}`);
    return false;
  }
  variant.rating = isGood;
  save(conversation);
  notice("");
  announce(isGood ? "Noted as a good answer." : "Noted as a bad answer.");
  return true;
}
