// Data: files come in, each is read and used as something, or stays here with its own error.

import { ask, pause, Refusal, send } from "./api.js";
import { button, byId, h, listed, plural, show, whole } from "./dom.js";
import { choose, emit, filesOf, labelled, marked, nouns, recall, remember, state } from "./state.js";

const CARDS = [
  ["positives", "Known positives", "Every row is known to be positive."],
  ["unlabeled", "To be counted", "Rows whose class is unknown. Several files are counted one by one and together."],
  ["negatives", "Known negatives", "If you have some: rows known to be something else."],
  ["reference", "Other unlabeled rows", "If you have some: last year's, or another site's, to compare with."],
];
const ONE_FILE = ["positives", "reference"];
const ACCEPTED = ".csv,.tsv,.txt,.jsonl,.ndjson,.gz,.zst,.zip,.xlsx,.xls,.xlsm,.xlsb,.ods,.parquet";
// A column with more values says something else than what is known.
const MOST_LABELS = 12;
// What text in cells means is the same in all files of a session.
const OF_ALL_FILES = ["decimal", "thousands", "day_first", "na", "units"];
const ADDED = { na: ", ", units: "\n", rename: "\n" };
const MENUS = [
  ["delimiter", "Delimiter", [["", "guessed"], [",", "comma"], [";", "semicolon"], ["\t", "tab"]]],
  ["decimal", "Decimal mark", [["", "guessed"], [".", "point: 0.5"], [",", "comma: 0,5"]]],
  ["header", "First line", [["", "guessed"], ["true", "column names"], ["false", "data"]]],
  ["row_names", "Row names", [["", "guessed"], ["true", "in the first column"], ["false", "none"]]],
  ["encoding", "Encoding", [
    ["", "guessed"], ["cp1252", "Windows, Western Europe (cp1252)"], ["latin-1", "Latin-1"], ["utf-16", "UTF-16"],
    ["utf-16-le", "UTF-16, little-endian"], ["utf-16-be", "UTF-16, big-endian"],
  ]],
  ["thousands", "Thousands mark", [
    ["", "guessed"], [",", "comma: 12,000"], [".", "point: 12.000"], [" ", "space: 12 000"], ["'", "apostrophe: 12'000"],
    ["_", "underscore: 12_000"],
  ]],
  ["day_first", "Dates such as 03/04/2026", [["", "guessed"], ["true", "day first: 3 April"], ["false", "month first: 4 March"]]],
];
const FIELDS = [
  ["header_row", "Row of the column names", "input", "such as 4"],
  ["footer", "Rows of notes at the end", "input", "such as 1"],
  ["na", "Signs of missing values", "input", "such as -, -999"],
  ["units", "Units", "textarea", "weight=g"],
  ["rename", "Other names of columns", "textarea", "Mass=weight"],
];

let limits = null;
let quiet = async () => {}; // stops what runs, because files cannot change meanwhile
let opened = new Set(); // files whose settings are open, by name
let adding = Promise.resolve(); // one file after the other

function given({ target }) {
  const files = [...target.files];
  target.value = "";
  addFiles(files, target.id === "files" ? null : target.id);
}

// Made once: who has opened the browser's dialog comes back to the same element, although the page
// has been drawn anew meanwhile.
const inputs = new Map(CARDS.map(([role, title]) => [role, h("input", {
  type: "file", id: role, class: "unseen", multiple: !ONE_FILE.includes(role), accept: ACCEPTED, "aria-label": title, change: given,
})]));

export function startData(serverLimits, stopCounting) {
  limits = serverLimits;
  quiet = stopCounting;
  byId("files").addEventListener("change", given);
  watchDrops();
  document.addEventListener("fix", ({ detail }) => fix(detail));
  renderData();
}

// Files can be dropped anywhere: on a card, or where the page finds their place.
function watchDrops() {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (on) => document.body.classList.toggle("dropping", on);
  document.addEventListener("dragover", (event) => {
    if (hasFiles(event)) {
      event.preventDefault();
      mark(true);
    }
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && mark(false));
  document.addEventListener("drop", (event) => {
    mark(false);
    if (hasFiles(event)) {
      event.preventDefault();
      addFiles([...event.dataTransfer.files], event.target.closest?.("[data-role]")?.dataset.role ?? null);
    }
  });
}

// Without a role: the known positives come first, and of several files they are the smallest.
export function addFiles(files, role) {
  const ordered = [...files].sort((a, b) => (role ? 0 : a.size - b.size));
  adding = adding.then(async () => {
    for (const file of ordered) {
      const free = !state.sent.some((entry) => entry.role === "positives" || entry.role === "table");
      await add({ role: role ?? (free ? "positives" : "unlabeled"), name: file.name, file, id: null, settings: common() });
    }
  });
  return adding;
}

// What was said of other files about cells holds for a new one, too.
const common = () => Object.fromEntries(Object.entries(state.sent[0]?.settings ?? {}).filter(([name]) => OF_ALL_FILES.includes(name)));

async function add(entry) {
  if (ONE_FILE.includes(entry.role)) {
    state.sent = state.sent.filter(({ role }) => role !== entry.role);
  }
  state.sent.push(entry);
  await work(entry, async () => {
    if (limits && entry.file.size > limits.upload_bytes) {
      const most = whole(limits.upload_bytes / 1e6);
      throw new Refusal(413, `${entry.name} is larger than ${most} MB, more than this page accepts; use the command line for it.`);
    }
    const before = new Set(state.session?.files.map(({ id }) => id));
    const told = await inSession((path) =>
      send(`${path}/files`, { role: entry.role, ...entry.settings }, entry.file, (part) => progress(entry, part)),
    );
    entry.id = told.files.find(({ id }) => !before.has(id)).id;
    take(told);
  });
}

function progress(entry, part) {
  entry.busy = part < 1 ? `sending, ${Math.round(100 * part)} %` : "reading";
  renderFiles();
  if (part === 1) {
    watchReading(entry);
  }
}

// The request is answered when the file is read; until then, the server says how far that is.
async function watchReading(entry) {
  for (await pause(); entry.busy; await pause()) {
    const files = await ask("GET", `sessions/${state.session.session}/reading`).catch(() => []);
    const { fraction } = files.find(({ name }) => name === entry.name) ?? {};
    if (entry.busy && fraction) {
      entry.busy = `reading, ${Math.round(100 * fraction)} %`;
      renderFiles();
    }
  }
}

// Something is done with a file: what goes wrong stays with it.
async function work(entry, what) {
  Object.assign(entry, { busy: "reading", error: null, choices: entry.choices ?? [], fixes: [], top: [] });
  renderData();
  try {
    await quiet();
    await what();
  } catch (error) {
    entry.error = error.message;
    entry.fixes = error.fixes ?? [];
    entry.top = error.top ?? [];
    entry.choices = error.choices?.length ? error.choices : entry.choices;
  }
  entry.busy = null;
  emit("files");
}

async function inSession(request) {
  for (let tries = 0; ; tries += 1) {
    state.session ??= { ...(await ask("POST", "sessions")), files: [] };
    remember();
    try {
      return await request(`sessions/${state.session.session}`);
    } catch (error) {
      if (error.status !== 404 || tries > 0) {
        throw error;
      }
      await sendAgain();
    }
  }
}

// The server has forgotten the session, as after a restart: it gets the files again that are still here.
export async function sendAgain() {
  const before = state.sent;
  state.session = null;
  state.sent = [];
  state.answer = null;
  emit("answer");
  for (const entry of before.filter(({ file, id }) => file && id)) {
    await add({ ...entry, id: null });
  }
  const lost = before.filter(({ file }) => !file).map(({ name }) => name);
  byId("data-error").textContent = lost.length ? `The server does not have ${listed(lost)} any more; add ${lost.length > 1 ? "them" : "it"} again.` : "";
  emit("files");
}

export function take(told) {
  state.session = told;
  emit("files");
}

// The files of the session that this tab had before its page was loaded again.
export async function resume() {
  const { session, chosen = {} } = recall();
  choose(chosen);
  if (session) {
    const told = await ask("GET", `sessions/${session}`).catch(() => null);
    if (told) {
      takeFiles(told);
    }
  }
  return state.session?.estimate ?? null;
}

function takeFiles(told) {
  state.sent = told.files.map(({ id, role, name, settings }) => ({ role, name, file: null, id, settings }));
  take(told);
}

export async function useExample(name) {
  await quiet();
  state.sent = [];
  takeFiles(await inSession((path) => ask("POST", `${path}/example?name=${name}`)));
}

// Replace all files by others, which come with settings of their own.
export async function replaceFiles(files) {
  await quiet();
  for (const { id } of filesOf("positives", "unlabeled", "negatives", "reference", "table")) {
    take(await inSession((path) => ask("DELETE", `${path}/files/${id}`)));
  }
  state.sent = [];
  for (const { role, file, settings } of files) {
    await add({ role, name: file.name, file, id: null, settings });
  }
}

async function remove(entry) {
  state.sent = state.sent.filter((other) => other !== entry);
  if (entry.role === "table") {
    state.label = { column: null, marks: {} };
  }
  if (entry.id) {
    await quiet();
    await inSession((path) => ask("DELETE", `${path}/files/${entry.id}`)).then(take, () => {});
  }
  emit("files");
}

// The server reads its files again, and gets again those that it refused.
async function readAgain(entry, role = entry.role) {
  if (ONE_FILE.includes(role)) {
    state.sent = state.sent.filter((other) => other === entry || other.role !== role);
  }
  entry.role = role;
  if (entry.id === null) {
    state.sent = state.sent.filter((other) => other !== entry);
    await add(entry);
    return;
  }
  const was = filesOf("positives", "unlabeled", "negatives", "reference", "table").find(({ id }) => id === entry.id);
  await work(entry, async () => {
    try {
      take(await inSession((path) => ask("PATCH", `${path}/files/${entry.id}`, { role, ...entry.settings })));
    } catch (error) {
      // What stands here is how the server still reads it.
      Object.assign(entry, { role: was.role, settings: was.settings });
      throw error;
    }
  });
}

export async function swap() {
  await quiet();
  take(await inSession((path) => ask("POST", `${path}/swap`)));
  for (const entry of state.sent) {
    entry.role = state.session.files.find(({ id }) => id === entry.id)?.role ?? entry.role;
  }
  state.nouns = { positives: "", rows: "" };
  emit("files");
}

async function set(entry, name, value, more = false) {
  const entries = OF_ALL_FILES.includes(name) ? state.sent : [entry];
  for (const each of entries) {
    const before = each.settings[name];
    each.settings = { ...each.settings, [name]: more && before ? `${before}${ADDED[name] ?? ""}${value}` : value };
    await readAgain(each);
  }
}

// A button beside a problem changes a setting of one file, or of all files of a role.
async function fix({ entry, role, setting, value }) {
  for (const each of entry ? [entry] : state.sent.filter((other) => other.role === role)) {
    await set(each, setting, value, setting in ADDED);
  }
}

export const fixButtons = (fixes, about) =>
  fixes.map(({ label, role, ...detail }) =>
    button(label, () => document.dispatchEvent(new CustomEvent("fix", { detail: { ...about, role, ...detail } }))),
  );

// What can be a label: a column of the only file that has few values.
export function labelColumns() {
  const [file, ...others] = filesOf("positives", "unlabeled", "table");
  if (!file || others.length || filesOf("negatives").length) {
    return [];
  }
  return file.columns.filter((name) => {
    const values = file.sketches[name]?.values ?? [];
    return values.length > 1 && values.length <= MOST_LABELS;
  });
}

const UNKNOWN = /^(|na|n\/a|nan|null|none|-+|\?|\.|unknown|not known|unlabell?ed|unclear|unbekannt|desconhecido)$/i;
const NO = /^(0|-1|no|n|false|f|negative|neg|nein|non|não)$/i;

export async function chooseLabel(column) {
  const entry = state.sent.find(({ role }) => role === "table" || role === "positives" || role === "unlabeled");
  const { sketches } = filesOf("positives", "unlabeled", "table")[0];
  const values = (sketches[column]?.values ?? []).map(([value]) => value).filter((value) => value !== null);
  const plain = values.filter((value) => !UNKNOWN.test(value) && !NO.test(value));
  // If all rows have a label, only the user knows which one is meant.
  const clear = plain.length === 1 || sketches[column].values.some(([value]) => value === null || UNKNOWN.test(value));
  state.label = { column, marks: Object.fromEntries(clear ? plain.map((value) => [value, "positive"]) : []) };
  entry.settings = { ...entry.settings, label: column };
  await readAgain(entry, "table");
}

async function forgetLabel() {
  state.label = { column: null, marks: {} };
  const entry = state.sent.find(({ role }) => role === "table");
  entry.settings = { ...entry.settings, label: "" };
  await readAgain(entry, "positives");
}

function mark(value, kind) {
  const marks = { ...state.label.marks };
  if (marks[value] === kind) {
    delete marks[value];
  } else {
    marks[value] = kind;
  }
  state.label = { ...state.label, marks };
  emit("files");
}

// What is on the page

export function renderData() {
  show("cards", CARDS.map(card));
  show("label-question", labelQuestion());
  const swappable = filesOf("positives").length === 1 && filesOf("unlabeled").length === 1;
  byId("swap").hidden = !swappable;
  byId("zone").classList.toggle("small", state.sent.length > 0);
  byId("welcome").hidden = state.sent.length > 0;
  renderFiles();
}

function card([role, title, hint]) {
  const noun = { positives: ["positives", "Called"], unlabeled: ["rows", "Called"] }[role];
  return h("div", { class: "card", "data-role": role },
    h("h3", {}, title),
    h("p", { class: "hint" }, hint),
    h("ul", { id: `${role}-files`, class: "files", "aria-label": title }),
    h("p", { class: "row" }, inputs.get(role), h("label", { for: role, class: "act" }, ONE_FILE.includes(role) ? "Choose a file" : "Choose files"),
      noun && h("label", { class: "noun" }, `${noun[1]} `, h("input", {
        type: "text", maxlength: 40, value: state.nouns[noun[0]], placeholder: noun[0], "data-noun": noun[0],
        input: ({ target }) => {
          state.nouns[noun[0]] = target.value;
          emit("words");
        },
      }))),
  );
}

function renderFiles() {
  for (const [role] of CARDS) {
    const entries = state.sent.filter((entry) => entry.role === role).map(fileItem);
    show(`${role}-files`, entries, fromTable(role));
  }
  const busy = state.sent.find((entry) => entry.busy);
  byId("file-status").textContent = busy ? `${busy.name}: ${busy.busy} …` : "";
}

// With a label column, one file fills several cards.
function fromTable(role) {
  const [entry] = state.sent.filter((each) => each.role === "table");
  const known = filesOf("table")[0];
  if (!entry || role === "reference") {
    return null;
  }
  const [positives, negatives] = [labelled("positive"), labelled("negative")];
  const column = state.label.column;
  if (role === "positives") {
    return [fileItem(entry), h("li", {}, `${plural(positives, "row")} where ${column} is ${listed(marked("positive")) || "…"}`)];
  }
  const n = role === "negatives" ? negatives : (known?.rows ?? 0) - positives - negatives;
  return n > 0 ? h("li", {}, `${plural(n, "row")} of ${entry.name}`) : null;
}

function fileItem(entry) {
  const file = state.session?.files.find(({ id }) => id === entry.id);
  const about = entry.busy ? `${entry.busy} …` : file ? plural(file.rows, "row") : "not used";
  const key = `${entry.role}-${entry.name}`;
  return h("li", { class: entry.error ? "refused" : null },
    h("p", { class: "file" }, h("strong", {}, entry.name), h("span", {}, about), sheetChoice(entry), useChoice(entry),
      button("×", () => remove(entry), { class: "link", title: "Remove", "aria-label": `Remove ${entry.name}` })),
    entry.error && h("p", { class: "error", role: "alert" }, entry.error),
    entry.fixes?.length ? h("p", { class: "row" }, fixButtons(entry.fixes, { entry })) : null,
    entry.error && !entry.busy && rawRows(entry, entry.top, null),
    !entry.busy && h("details", {
      open: opened.has(key),
      toggle: ({ target }) => opened[target.open ? "add" : "delete"](key),
    }, h("summary", {}, file?.reading || "How it is read"), file && rawRows(entry, file.top, file.header_row), settingsForm(entry)),
  );
}

// The first rows as they stand in the file: a click says which one has the names of the columns.
function rawRows(entry, top, headerRow) {
  if (!top?.length) {
    return null;
  }
  const now = entry.settings.header === "false" ? null : (headerRow ?? (entry.error ? null : top[0][0]));
  const choose = (number) => button(`row ${number}`, () => set(entry, "header_row", String(number)), { class: "toggle", "aria-pressed": String(number === now) });
  return [h("p", { class: "hint" }, "Its first rows. Which one has the names of the columns?"),
    h("div", { class: "wide raw", tabindex: 0, role: "region", "aria-label": `First rows of ${entry.name}` }, h("table", { class: "cells" }, h("tbody", {}, top.map(([number, cells]) =>
      h("tr", { class: number === now ? "names" : number < now ? "above" : null }, h("th", { scope: "row" }, choose(number)), cells.map((cell) => h("td", {}, cell)))))))];
}

function sheetChoice(entry) {
  if (!entry.choices?.length) {
    return null;
  }
  const { sheet = "" } = entry.settings;
  return select(`Sheet of ${entry.name}`, [...(sheet ? [] : [["", "choose a sheet"]]), ...entry.choices.map((name) => [name, name])], sheet, (value) =>
    set(entry, "sheet", value),
  );
}

function useChoice(entry) {
  if (entry.role === "table") {
    return null;
  }
  return select(`Use ${entry.name} as`, CARDS.map(([role, title]) => [role, title.toLowerCase()]), entry.role, (role) => readAgain(entry, role));
}

function settingsForm(entry) {
  const menus = MENUS.map(([name, label, options]) =>
    h("label", {}, h("span", {}, label), select(null, options, entry.settings[name] ?? "", (value) => set(entry, name, value), { "data-setting": name })),
  );
  const fields = FIELDS.map(([name, label, tag, placeholder]) => {
    const field = h(tag, { placeholder, "data-setting": name, rows: tag === "textarea" ? 2 : null, change: ({ target }) => set(entry, name, target.value) });
    field.value = entry.settings[name] ?? "";
    return h("label", {}, h("span", {}, label), field);
  });
  return h("div", { class: "settings" }, menus, fields);
}

export function select(label, options, value, changed, more = {}) {
  const made = h("select", { "aria-label": label, change: ({ target }) => changed(target.value), ...more },
    options.map(([key, text]) => h("option", { value: key }, text)));
  made.value = value;
  return made;
}

function labelQuestion() {
  const columns = labelColumns();
  if (!columns.length) {
    return null;
  }
  const { column } = state.label;
  const [file] = filesOf("positives", "unlabeled", "table");
  const labelled = file.role === "table";
  const values = file.sketches[column]?.values ?? [];
  const toggle = (kind) => ([value, n]) =>
    button(`${value} (${whole(n)})`, () => mark(value, kind), { class: "toggle", "aria-pressed": String(state.label.marks[value] === kind) });
  const named = values.filter(([value]) => value !== null);
  return [
    h("h3", {}, "One file with everything? Which column says what is known?"),
    h("p", { class: "row" }, columns.map((name) => button(name, () => chooseLabel(name), { class: "toggle", "aria-pressed": String(labelled && name === column) })),
      labelled && button("None of them", forgetLabel)),
    labelled && h("p", { class: "row" }, h("span", {}, `Known ${nouns().positives}:`), named.map(toggle("positive"))),
    labelled && h("p", { class: "row" }, h("span", {}, "Known to be something else:"), named.filter(([value]) => state.label.marks[value] !== "positive").map(toggle("negative")),
      h("span", { class: "hint" }, "All other rows are counted.")),
  ];
}

// The step in one line.
export function dataLine() {
  const { positives, rows } = nouns();
  const names = (...roles) => listed(filesOf(...roles).map(({ name }) => name));
  const [table] = filesOf("table");
  const counted = table ? table.rows - labelled("positive") - labelled("negative") : filesOf("unlabeled").reduce((sum, file) => sum + file.rows, 0);
  const known = table ? labelled("positive") : filesOf("positives").reduce((sum, file) => sum + file.rows, 0);
  const reading = [...new Set((state.session?.files ?? []).map((file) => file.reading).filter(Boolean))].join(" ");
  const source = table ? ` (${names("table")})` : "";
  const kinds = marked("positive").length;
  return `${whole(known)} known ${kinds > 1 ? `${rows} of ${kinds} kinds` : positives}${table ? "" : ` (${names("positives")})`} · ${whole(counted)} ${rows} to count${table ? source : ` (${names("unlabeled")})`}${reading ? ` · ${reading}` : ""}`;
}
