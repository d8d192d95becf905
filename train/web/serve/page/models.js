// The models of the server, and the key that it may require.
import { isText } from "./values.js";
import { notice } from "./notices.js";
import { askUser } from "./dialogs.js";
import { setApiKey } from "./storage.js";
import { request } from "./server.js";
import { changed, state } from "./page.js";

export async function loadModels() {
  try {
    const { data } = await (await request("GET", "v1/models")).json();
    state.models = Array.isArray(data) ? data.filter((one) => one && isText(one.id)) : [];
    changed("models");
  } catch (error) {
    if (error.status === 401) await askForKey();
    else notice(error.message);
  }
}

// Returns whether a key was entered.
export async function askForKey() {
  const text = "This server requires a key (--api-key). It is forgotten when this tab is closed.";
  const key = await askUser({ title: "API key", text, label: "Key", type: "password", yes: "Use the key" });
  if (!key) return false;
  setApiKey(key);
  await loadModels();
  return true;
}
