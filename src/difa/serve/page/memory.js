// What this browser remembers, where it may.

export function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Not kept, then.
  }
}

export function kept(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}
