// Checks values that came from elsewhere: the storage of the browser, files and the server.

export const isText = (value) => typeof value === "string";
export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

// Returns the value of a JSON text, or null if it is not one.
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
