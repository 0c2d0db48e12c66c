// Step 1: send files to the server, and show what it found in them.

import { ask, forget, Refusal, send } from "./api.js";
import { byId, clearErrors, element, say, showError, whole } from "./page.js";

const ROLES = ["positives", "unlabeled"];
const LAYOUT = ["delimiter", "decimal", "header"];

let session = null; // the session as the server last described it
let sent = []; // {role, file, id}: kept to send them again when the settings change
let limits = null;
let onChange = () => {};

export const currentSession = () => session;

export function startFiles(serverLimits, changed) {
  limits = serverLimits;
  onChange = changed;
}

export function watchFiles() {
  for (const role of ROLES) {
    const input = byId(role);
    input.addEventListener("change", () => {
      const files = [...input.files];
      input.value = "";
      addFiles(role, files);
    });
    const area = document.querySelector(`.drop[data-role="${role}"]`);
    for (const name of ["dragenter", "dragover"]) {
      area.addEventListener(name, (event) => {
        event.preventDefault();
        area.classList.add("over");
      });
    }
    area.addEventListener("dragleave", () => area.classList.remove("over"));
    area.addEventListener("drop", (event) => {
      event.preventDefault();
      area.classList.remove("over");
      addFiles(role, [...event.dataTransfer.files]);
    });
  }
  for (const name of LAYOUT) {
    byId(name).addEventListener("change", sendAgain);
  }
  window.addEventListener("pagehide", () => {
    if (session) {
      forget(`sessions/${session.session}`);
    }
  });
}

export async function useExample() {
  clearErrors(...ROLES, ...LAYOUT);
  say("file-status", "Loading the example …");
  sent = [];
  await inSession(async () => {
    take(await ask("POST", `sessions/${session.session}/example`));
  });
  say("file-status", "The example is loaded.");
}

async function addFiles(role, files) {
  clearErrors(role, ...LAYOUT);
  const chosen = role === "positives" ? files.slice(0, 1) : files;
  if (files.length > chosen.length) {
    showError(new Refusal(0, "There can be only one file of positives; the others were ignored.", role));
  }
  for (const file of chosen) {
    try {
      await addFile(role, file);
    } catch (error) {
      showError(error, role);
      say("file-status", "");
    }
  }
}

async function addFile(role, file) {
  if (limits && file.size > limits.upload_bytes) {
    const most = whole(limits.upload_bytes / 1e6);
    const sentence = `${file.name} is larger than ${most} MB, more than this server accepts; use the command line for it.`;
    throw new Refusal(413, sentence, role);
  }
  const entry = { role, file, id: null };
  sent = sent.filter((other) => role !== "positives" || other.role !== role);
  sent.push(entry);
  const before = new Set(session?.files.map((known) => known.id));
  const fields = { role, ...Object.fromEntries(LAYOUT.map((name) => [name, byId(name).value])) };
  await inSession(async () => {
    const path = `sessions/${session.session}/files`;
    const told = await send(path, fields, file, (share) => {
      const doing = share < 1 ? `sending, ${Math.round(100 * share)} %` : "reading";
      say("file-status", `${file.name}: ${doing} …`);
    });
    entry.id = told.files.find((known) => !before.has(known.id))?.id;
    take(told);
  });
  say("file-status", `${file.name} is read.`);
}

// A file is read with the settings it was sent with; when they change, it is sent again.
async function sendAgain() {
  const again = sent;
  sent = [];
  for (const { role, file, id } of again) {
    if (id && session?.files.some((known) => known.id === id)) {
      take(await ask("DELETE", `sessions/${session.session}/files/${id}`));
    }
    await addFiles(role, [file]);
  }
}

async function inSession(work) {
  session ??= await ask("POST", "sessions");
  try {
    await work();
  } catch (error) {
    if (error.status === 404) {
      session = null;
      sent = [];
      render();
      throw new Refusal(404, "Your session has expired and its files were deleted; add them again.", error.field);
    }
    throw error;
  }
}

async function removeFile(id) {
  sent = sent.filter((entry) => entry.id !== id);
  try {
    await inSession(async () => take(await ask("DELETE", `sessions/${session.session}/files/${id}`)));
    say("file-status", "The file is removed.");
  } catch (error) {
    showError(error);
  }
}

function take(told) {
  session = told;
  render();
}

function render() {
  for (const role of ROLES) {
    const files = (session?.files ?? []).filter((file) => file.role === role);
    byId(`${role}-files`).replaceChildren(...files.map(fileItem));
  }
  onChange(session);
}

function fileItem(file) {
  const item = element("li", `${file.name}: ${whole(file.rows)} rows, ${file.columns.length} columns`);
  const button = element("button", "Remove", {
    type: "button",
    class: "plain",
    "aria-label": `Remove ${file.name}`,
  });
  button.addEventListener("click", () => removeFile(file.id));
  item.append(button);
  return item;
}
