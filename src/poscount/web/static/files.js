// Step 1: send files to the server, and show what it found in them.

import { ask, pause, Refusal, send, tell } from "./api.js";
import { clearErrors, showError } from "./errors.js";
import { recall, remember } from "./memory.js";
import { byId, element, say, whole } from "./page.js";
import { showPreviews } from "./previews.js";

const ROLES = ["positives", "unlabeled", "reference"];
const OF_ONE_FILE = ["positives", "reference"];
const LAYOUT = ["delimiter", "decimal", "header", "encoding", "thousands", "day_first", "na", "units"];

const ADDED = { na: ", ", units: "\n" }; // settings to which something is added
const LATE_MILLISECONDS = 5000;

let session = null; // the session as the server last described it
// {role, name, file, id, sheets, sheet, changes}: kept to read them again when the settings change. The
// file is null after the page was loaded again; the id is null if the server refused the file. The
// sheets are those of a workbook from which somebody has to choose. The changes are settings of this
// file alone, made by a button beside a problem.
let sent = [];
let limits = null;
let receiving = 0; // files on their way
let onChange = () => {};
let onReceiving = () => {};

export const currentSession = () => session;

export const isReceiving = () => receiving > 0;

export function startFiles(serverLimits, changed, receivingChanged) {
  limits = serverLimits;
  onChange = changed;
  onReceiving = receivingChanged;
}

export function watchFiles() {
  for (const role of ROLES) {
    const input = byId(role);
    input.addEventListener("change", () => {
      const files = [...input.files];
      input.value = "";
      addFiles(role, files);
    });
  }
  watchDrops();
  for (const name of LAYOUT) {
    byId(name).addEventListener("change", settingChanged);
  }
  document.addEventListener("fix", fix);
  // The page may be loaded again, so that the server keeps the session for a little while.
  window.addEventListener("pagehide", () => {
    if (session) {
      tell(`sessions/${session.session}/leave`);
    }
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) {
      stay();
    }
  });
}

// The session of this tab before its page was loaded again, if there is one and it still exists.
export async function resumeSession() {
  const name = recall().session;
  if (!name) {
    return;
  }
  try {
    const told = await ask("GET", `sessions/${name}`);
    sent = told.files.map(({ id, role, name: file, settings }) => {
      const { sheet = "", ...changes } = settings;
      return { role, name: file, file: null, id, sheets: [], sheet, changes };
    });
    take(told);
    // Should the old page's goodbye be late, the session is not deleted in spite of this.
    setTimeout(stay, LATE_MILLISECONDS);
  } catch {
    remember({ session: null });
  }
}

function stay() {
  if (session) {
    ask("GET", `sessions/${session.session}`).catch(() => {});
  }
}

// Files can be dropped anywhere: on the box of a role, or on the half of the window that shows while
// something is dragged.
function watchDrops() {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const roleAt = (event) => event.target.closest?.("[data-role]");
  const mark = (area) => {
    document.querySelectorAll("[data-role].over").forEach((other) => other.classList.remove("over"));
    area?.classList.add("over");
  };
  const done = () => {
    byId("dropping").hidden = true;
    mark(null);
  };
  document.addEventListener("dragenter", (event) => {
    if (hasFiles(event)) {
      byId("dropping").hidden = roleAt(event)?.classList.contains("drop") ?? false;
    }
  });
  document.addEventListener("dragover", (event) => {
    if (hasFiles(event)) {
      event.preventDefault();
      mark(roleAt(event));
    }
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) {
      done();
    }
  });
  document.addEventListener("drop", (event) => {
    const role = roleAt(event)?.dataset.role;
    if (hasFiles(event) && role) {
      event.preventDefault();
      addFiles(role, [...event.dataTransfer.files]);
    }
    done();
  });
}

export async function useExample() {
  clearErrors(...ROLES, ...LAYOUT);
  say("file-status", "Loading the example …");
  sent = [];
  showSheets();
  await inSession(async () => {
    take(await ask("POST", `sessions/${session.session}/example`));
  });
  say("file-status", "The example is loaded.");
}

// Replace all files by others, which come with settings of their own.
export async function replaceFiles(files) {
  for (const { id } of [...(session?.files ?? [])]) {
    await removeFile(id);
  }
  sent = [];
  clearErrors(...ROLES, ...LAYOUT);
  for (const { role, file, settings } of files) {
    const { sheet = "", ...changes } = settings;
    await addEntry({ role, name: file.name, file, id: null, sheets: [], sheet, changes });
  }
}

async function addFiles(role, files) {
  clearErrors(role, ...LAYOUT);
  const chosen = OF_ONE_FILE.includes(role) ? files.slice(0, 1) : files;
  if (files.length > chosen.length) {
    showError(new Refusal(0, "There can be only one file here; the others were ignored.", role));
  }
  for (const file of chosen) {
    await addEntry({ role, name: file.name, file, id: null, sheets: [], sheet: "", changes: {} });
  }
}

async function addEntry(entry) {
  receive(1);
  try {
    await addFile(entry);
  } catch (error) {
    entry.sheets = error.choices?.length ? error.choices : entry.sheets;
    showError(error, entry.role);
    say("file-status", "");
  } finally {
    showSheets();
    receive(-1);
  }
}

function receive(more) {
  receiving += more;
  onReceiving();
}

const layout = () => Object.fromEntries(LAYOUT.map((name) => [name, byId(name).value]));

const settingsOf = ({ sheet, changes }) => ({ sheet, ...layout(), ...changes });

async function addFile(entry) {
  const { role, file } = entry;
  if (limits && file.size > limits.upload_bytes) {
    const most = whole(limits.upload_bytes / 1e6);
    const sentence = `${file.name} is larger than ${most} MB, more than this server accepts; use the command line for it.`;
    throw new Refusal(413, sentence, role);
  }
  sent = sent.filter((other) => !OF_ONE_FILE.includes(role) || other.role !== role);
  sent.push(entry);
  const before = new Set(session?.files.map((known) => known.id));
  await inSession(async () => {
    const path = `sessions/${session.session}/files`;
    const told = await whileReading(file.name, (isSent) =>
      send(path, { role, ...settingsOf(entry) }, file, (share) => {
        if (share < 1) {
          say("file-status", `${file.name}: sending, ${Math.round(100 * share)} % …`);
        } else {
          isSent();
        }
      }),
    );
    entry.id = told.files.find((known) => !before.has(known.id))?.id;
    take(told);
  });
  say("file-status", `${file.name} is read.`);
}

// The request is answered when the file is read; until then, the server says how far that is.
async function whileReading(name, request) {
  let state = "sending";
  const isSent = async () => {
    if (state !== "sending") {
      return;
    }
    state = "reading";
    say("file-status", `${name}: reading …`);
    await pause();
    while (state === "reading") {
      const files = await ask("GET", `sessions/${session.session}/reading`).catch(() => []);
      const { fraction } = files.find((file) => file.name === name) ?? {};
      if (state === "reading" && fraction) {
        say("file-status", `${name}: reading, ${Math.round(100 * fraction)} % …`);
      }
      await pause();
    }
  };
  try {
    return await request(isSent);
  } finally {
    state = "read";
  }
}

// A setting was changed for all files.
async function settingChanged(event) {
  for (const entry of sent) {
    delete entry.changes[event.target.id];
  }
  await readAgain(sent);
}

// A button beside a problem changes a setting of the files of one role, and adds to what others need.
async function fix({ detail: { role, setting, value } }) {
  const files = sent.filter((entry) => entry.role === role);
  for (const entry of files) {
    const before = entry.changes[setting] ?? byId(setting).value;
    const more = ADDED[setting];
    entry.changes[setting] = more && before ? `${before}${more}${value}` : value;
  }
  await readAgain(files);
}

// The server reads its files again, and gets again those that it refused.
async function readAgain(entries) {
  clearErrors(...ROLES, ...LAYOUT);
  for (const entry of [...entries]) {
    if (entry.id === null) {
      sent = sent.filter((other) => other !== entry);
      await addEntry(entry);
    } else {
      await changeSettings(entry);
    }
  }
}

async function changeSettings(entry) {
  receive(1);
  say("file-status", `${entry.name}: reading …`);
  try {
    const path = `sessions/${session.session}/files/${entry.id}`;
    const change = (isSent) => {
      isSent();
      return ask("PATCH", path, settingsOf(entry));
    };
    await inSession(async () => take(await whileReading(entry.name, change)));
    say("file-status", `${entry.name} is read.`);
  } catch (error) {
    // What is on the page and how a file is read must not differ.
    await takeBack(entry).catch(() => {});
    sent = sent.filter((other) => other !== entry || entry.file);
    showError(error, entry.role);
    say("file-status", "");
  } finally {
    receive(-1);
  }
}

async function takeBack(entry) {
  if (entry.id && session?.files.some((known) => known.id === entry.id)) {
    take(await ask("DELETE", `sessions/${session.session}/files/${entry.id}`));
  }
  entry.id = null;
}

async function chooseSheet(entry, sheet) {
  clearErrors(entry.role, ...LAYOUT);
  await takeBack(entry);
  sent = sent.filter((other) => other !== entry);
  await addEntry({ ...entry, sheet });
}

function showSheets() {
  for (const role of ROLES) {
    const books = sent.filter((entry) => entry.role === role && entry.sheets.length > 0);
    byId(`${role}-sheets`).replaceChildren(...books.map(sheetChoice));
  }
}

function sheetChoice(entry, i) {
  const id = `${entry.role}-sheet-${i}`;
  const part = document.createElement("div");
  const select = element("select", "", { id, "aria-describedby": `${entry.role}-error` });
  const first = entry.sheet ? [] : [element("option", "choose a sheet", { value: "" })];
  select.append(...first, ...entry.sheets.map((name) => element("option", name, { value: name })));
  select.value = entry.sheet;
  select.addEventListener("change", () => chooseSheet(entry, select.value));
  part.append(element("label", `Sheet of ${entry.name}`, { for: id }), select);
  return part;
}

async function inSession(work) {
  session ??= await ask("POST", "sessions");
  remember({ session: session.session });
  try {
    await work();
  } catch (error) {
    if (error.status === 404) {
      session = null;
      remember({ session });
      sent = [];
      showSheets();
      render();
      throw new Refusal(404, "Your session has expired and its files were deleted; add them again.", error.field);
    }
    throw error;
  }
}

async function removeFile(id) {
  sent = sent.filter((entry) => entry.id !== id);
  showSheets();
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
  showPreviews(session?.files ?? []);
  onChange(session);
}

function fileItem(file) {
  const item = element("li", `${file.name}: ${whole(file.rows)} rows, ${file.columns.length} columns`);
  const button = element("button", "×", {
    type: "button",
    class: "link remove",
    title: "Remove",
    "aria-label": `Remove ${file.name}`,
  });
  button.addEventListener("click", () => removeFile(file.id));
  item.append(button);
  return item;
}
