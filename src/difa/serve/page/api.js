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
  const headers = { ...(options.body ? { "Content-Type": "application/json" } : {}), ...(key ? { "X-API-Key": key } : {}) };
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

export async function score(request, signal, patience = 5) {
  for (let turn = 0; ; turn += 1) {
    try {
      return await call("/v1/score", { method: "POST", body: JSON.stringify(request), signal });
    } catch (error) {
      if (error.status !== 429 || turn >= patience) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000 * error.retryAfter));
    }
  }
}
