// Fields in which messages are written.

export const isComposing = (event) => event.isComposing || event.keyCode === 229;

// Returns whether a key sends the text of a field.
export const isSendKey = (event) => event.key === "Enter" && !event.shiftKey && !isComposing(event);

// Makes a field as high as its text.
export function growField(field) {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`;
}
