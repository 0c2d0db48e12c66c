// What the page knows, what a tab remembers when its page is loaded again, and who wants to be told.

const KEY = "poscount";

const nothing = () => ({
  picked: {}, // what somebody chose for a column, by its name
  label: { column: null, marks: {} }, // the column that says what is known, and what its values mean
  nouns: { positives: "", rows: "" },
  options: { recognisable: null, drop_known: false, by_file: true, method: "rcq", confidence: "", bootstrap: "", random_state: "0" },
  labels: {}, // labels given by hand: {key: {n, rows: {audit_id: true or false}}}
  report: { title: "", notes: "" },
  example: { truth: "" }, // what is known of an example
});

export const state = {
  session: null, // as the server last described it
  sent: [], // {role, name, file, id, settings, error, choices, fixes, busy}: also files that were refused
  answer: null, // {path, request, result, downloads, seconds}
  checked: null, // what the check of the assumptions found
  compared: null, // how the share differs from that of the other sample
  settled: null, // what labels by hand say
  ...nothing(),
};

export const chosen = () => Object.fromEntries(Object.keys(nothing()).map((name) => [name, state[name]]));

export function choose(values = {}) {
  const usual = nothing();
  for (const name of Object.keys(usual)) {
    state[name] = values[name] && typeof values[name] === "object" ? { ...usual[name], ...values[name] } : usual[name];
  }
}

// Another tab or another web site cannot read it, and it is never sent by itself, as a cookie is.
export function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // the browser does not allow it, or something else is there
  }
}

export function remember() {
  try {
    const counted = state.answer !== null;
    sessionStorage.setItem(KEY, JSON.stringify({ session: state.session?.session ?? null, chosen: chosen(), counted }));
  } catch {
    // Then the page forgets when it is loaded again, and works otherwise.
  }
}

// "files" have changed, "choices" have, an "answer" has come or gone, or more is known about it.
const listeners = new Map();

export function on(what, listener) {
  listeners.set(what, [...(listeners.get(what) ?? []), listener]);
}

export function emit(what) {
  (listeners.get(what) ?? []).forEach((listener) => listener());
}

// What is counted, in the user's words.
export const nouns = () => ({
  positives: state.nouns.positives.trim() || labelNoun() || "positives",
  rows: state.nouns.rows.trim() || "rows",
});

const PLAIN = new Set(["yes", "y", "1", "true", "t", "positive", "pos", "x", "ja", "sim", "known"]);

function labelNoun() {
  const [only, ...more] = marked("positive");
  return only !== undefined && more.length === 0 && !PLAIN.has(only.toLowerCase()) ? only : "";
}

export const marked = (kind) => Object.entries(state.label.marks).filter(([, mark]) => mark === kind).map(([value]) => value);

export const filesOf = (...roles) => (state.session?.files ?? []).filter(({ role }) => roles.includes(role));

// How many rows of the table have these labels.
export function labelled(kind) {
  const values = new Map(filesOf("table").flatMap(({ sketches }) => sketches[state.label.column]?.values ?? []));
  return marked(kind).reduce((sum, value) => sum + (values.get(value) ?? 0), 0);
}
