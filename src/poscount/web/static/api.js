// Requests to the server of this page. A refusal is an error with the field that it belongs to.

export class Refusal extends Error {
  constructor(status, message, field, { choices = [], fixes = [], top = [] } = {}) {
    super(message);
    this.status = status;
    this.field = field;
    this.choices = choices;
    this.fixes = fixes;
    this.top = top;
  }
}

const UNREACHABLE = "The server does not answer. Is it still running?";

function outcome(status, text) {
  let content = null;
  try {
    content = text ? JSON.parse(text) : null;
  } catch {
    throw new Refusal(status, `The server's answer cannot be read (status ${status}).`, null);
  }
  if (status >= 400) {
    throw new Refusal(status, content.message, content.field, content);
  }
  return content;
}

export async function ask(method, path, content) {
  const options = { method };
  if (content !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(content);
  }
  let response;
  try {
    response = await fetch(`/api/${path}`, options);
  } catch {
    throw new Refusal(0, UNREACHABLE, null);
  }
  return outcome(response.status, await response.text());
}

// XMLHttpRequest, because fetch does not report how much of a file has been sent.
export function send(path, fields, file, onProgress) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    form.append(name, value);
  }
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/${path}`);
    request.upload.onprogress = (event) => onProgress(event.loaded / event.total);
    request.onerror = () => reject(new Refusal(0, UNREACHABLE, null));
    request.onload = () => {
      try {
        resolve(outcome(request.status, request.responseText));
      } catch (error) {
        reject(error);
      }
    };
    request.send(form);
  });
}

const POLL_MILLISECONDS = 150;

// Between two requests for the state of some work.
export const pause = () => new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));

// For when the page is closed and nobody waits for the answer.
export function tell(path) {
  fetch(`/api/${path}`, { method: "POST", keepalive: true }).catch(() => {});
}

// Further work on an estimate: begin it, and wait for its result. What comes is null if `wanted` says
// that nobody waits any more.
export async function followUp(path, kind, request = {}, wanted = () => true) {
  let told = await ask("POST", `${path}/follow-ups`, { kind, ...request });
  while (["waiting", "running"].includes(told.state)) {
    await pause();
    if (!wanted()) {
      return null;
    }
    told = await ask("GET", `${path}/follow-ups/${kind}`);
  }
  if (told.state === "cancelled") {
    return null;
  }
  if (told.state !== "done") {
    throw new Refusal(0, told.error.message, told.error.field);
  }
  return told.result;
}
