// Requests to the server that the page came from, in OpenAI's protocol.
import { isText, parsed } from "./values.js";
import { apiKey } from "./storage.js";

export class ServerError extends Error {
  constructor(message, status = 0, code = "") {
    super(message);
    this.status = status; // 0: no response
    this.code = code;
  }
}

function errorFrom(object, status) {
  const error = object && typeof object === "object" && object.error;
  const { message, code } = error && typeof error === "object" ? error : { message: error };
  const words = isText(message) && message ? message : `The server answered with status ${status}.`;
  return new ServerError(words, status, isText(code) ? code : "");
}

// Calls act(). Its errors become a ServerError with a message, unless a request was aborted.
async function connected(act, message) {
  try {
    return await act();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(message);
  }
}

export async function request(method, path, body, signal) {
  const key = apiKey();
  const headers = { ...(body ? { "Content-Type": "application/json" } : {}), ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const options = { method, signal, cache: "no-store", redirect: "error", headers, body: body ? JSON.stringify(body) : undefined };
  const nobody = "The server does not answer. It may have been stopped, or the network may be down.";
  const response = await connected(() => fetch(path, options), nobody);
  if (response.ok) return response;
  const text = await response.text().catch(() => "");
  throw errorFrom(parsed(text), response.status);
}

// Calls act(object) for each event of a stream, until [DONE]. Throws ServerError if the stream ends before.
export async function readEvents(response, act) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const some = await connected(() => reader.read(), "The connection to the server was lost in the middle of the answer.");
    if (some.done) throw new ServerError("The server went away in the middle of the answer.");
    rest += decoder.decode(some.value, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith("data:")) continue;
      const data = line.slice(5).trim();
      if (data === "[DONE]") return readToEnd(reader);
      const object = parsed(data);
      if (object && object.error) throw errorFrom(object, 500);
      if (object) act(object);
    }
  }
}

async function readToEnd(reader) {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is complete.
  }
}
