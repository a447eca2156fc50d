// Requests to the service. Errors carry the service's own line.

let key = sessionStorage.getItem("difa-key") || "";

export function setKey(value) {
  key = value;
  sessionStorage.setItem("difa-key", value);
}

export class ServiceError extends Error {
  constructor(status, message, retryAfter) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

async function call(path, options = {}) {
  const headers = { ...(options.kind ? { "Content-Type": options.kind } : {}), ...(key ? { "X-API-Key": key } : {}) };
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, "The service cannot be reached: is it still running?");
  }
  if (answer.ok) return answer.json();
  const body = await answer.json().catch(() => ({}));
  throw new ServiceError(answer.status, body.error || `status ${answer.status}`, Number(answer.headers.get("Retry-After")) || 1);
}

export const fetchModels = () => call("/v1/models");

// A service that is busy says when to come again.
async function patiently(work, patience = 5) {
  for (let turn = 0; ; turn += 1) {
    try {
      return await work();
    } catch (error) {
      if (error.status !== 429 || turn >= patience) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
    }
  }
}

export const score = (request, signal) =>
  patiently(() => call("/v1/score", { method: "POST", body: JSON.stringify(request), kind: "application/json", signal }));

export const sendVerdict = (record) => patiently(() => call("/v1/verdicts", { method: "POST", body: JSON.stringify(record), kind: "application/json" }));

// The documents of a file, and its columns if it is a table.
export function readFile(file, textColumn, signal) {
  const query = new URLSearchParams({ name: file.name, ...(textColumn ? { text_column: textColumn } : {}) });
  return patiently(() => call(`/v1/tables?${query}`, { method: "POST", body: file, kind: "application/octet-stream", signal }));
}
