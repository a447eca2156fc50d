// Requests to the service. Errors carry the service's own line, and the status of its answer.

import { keep, kept } from "./dom.js";

let key = kept("difa-key", "sessionStorage");

export function setKey(value) {
  key = value;
  keep("difa-key", value, "sessionStorage");
}

// A service that is busy says when to come again.
async function call(path, { kind, ...options } = {}, patience = 5) {
  const headers = { ...(kind ? { "Content-Type": kind } : {}), ...(key ? { "X-API-Key": key } : {}) };
  const answer = await fetch(path, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new Error("The service cannot be reached: is it still running?");
  });
  if (answer.ok) return answer.json();
  if (answer.status === 429 && patience) {
    const seconds = Number(answer.headers.get("Retry-After")) || 1;
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    return call(path, { kind, ...options }, patience - 1);
  }
  const { error } = await answer.json().catch(() => ({}));
  throw Object.assign(new Error(error || `status ${answer.status}`), { status: answer.status });
}

const post = (path, body, signal, kind = "application/json") => call(path, { method: "POST", body, kind, signal });

export const fetchModels = () => call("/v1/models");
export const score = (request, signal) => post("/v1/score", JSON.stringify(request), signal);
export const sendVerdict = (record) => post("/v1/verdicts", JSON.stringify(record));

// The documents of a file, and its columns if it is a table.
export function readFile(file, textColumn, signal) {
  const query = new URLSearchParams({ name: file.name, ...(textColumn ? { text_column: textColumn } : {}) });
  return post(`/v1/tables?${query}`, file, signal, "application/octet-stream");
}
