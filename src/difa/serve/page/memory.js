// What this browser remembers, where it may: for good, or until the tab is closed.

function put(storage, name, value) {
  try {
    globalThis[storage].setItem(name, value);
  } catch {
    // Not kept, then.
  }
}

function look(storage, name) {
  try {
    return globalThis[storage].getItem(name) ?? "";
  } catch {
    return "";
  }
}

export const keep = (name, value) => put("localStorage", name, value);
export const kept = (name) => look("localStorage", name);
export const keepForTab = (name, value) => put("sessionStorage", name, value);
export const keptForTab = (name) => look("sessionStorage", name);
