// The storage of the browser, or the memory of the page if the browser refuses.

function memoryStorage() {
  const kept = new Map();
  return {
    isMemory: true,
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
    get length() {
      return kept.size;
    },
    key: (i) => [...kept.keys()][i],
  };
}

function storageOf(name) {
  try {
    const storage = window[name];
    storage.setItem("dikkat.chat.test", "1");
    storage.removeItem("dikkat.chat.test");
    return storage;
  } catch {
    return memoryStorage();
  }
}

export const kept = storageOf("localStorage");
const session = storageOf("sessionStorage");

// Returns whether there was room for the text.
export function keepText(name, text) {
  try {
    kept.setItem(name, text);
    return true;
  } catch {
    return false;
  }
}

// The key of the server's API, which is forgotten when the tab is closed.
const KEY = "dikkat.chat.key";
export const apiKey = () => session.getItem(KEY) || "";
export function setApiKey(key) {
  if (key) session.setItem(KEY, key);
  else session.removeItem(KEY);
}
