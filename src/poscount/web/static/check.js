// Check: what speaks against the answer, the worst first, each with one thing to do; and labels by hand.

import { followUp } from "./api.js";
import { scorePicture } from "./charts.js";
import { button, byId, h, plural, range, share, show, whole } from "./dom.js";
import { choices, leaveOut } from "./columns.js";
import { swap } from "./data.js";
import { emit, filesOf, nouns, remember, state } from "./state.js";

const SEVERITIES = ["do not use", "check", "note"];
const ICONS = { "do not use": "✕", check: "!", note: "i" };
// What is wrong with these can be mended by leaving a column out.
const OF_COLUMNS = new Set([
  "context-column", "constant-features", "other-units", "only-columns-fit", "missing-differs", "missing-code", "added-zeros",
  "exchanged-columns", "code-among-positives", "unseen-words", "repeated-columns", "singular-covariance", "repeated-values",
]);
const TO_LABEL = new Set([
  "broken-assumption", "core-differs", "pat-disagrees", "dedpul-disagrees", "overlap", "nothing-like-positives", "unlike-experience",
  "hardly-recognisable", "few-positives", "few-positives-for-rcq",
]);
const OURS = /^(label|audit_.*)$/; // columns that are not of the file
const FEWEST_SWAPPED = 30; // rows, of which none being positive says something
const WAIT_FOR_MORE = 500; // milliseconds between two labels

let asked = null; // rows to label: {path, n, columns, rows}
let timer = 0;

// The one thing to do about something that was found.
export function actionFor({ code, sentence, reason = "", advice = "" }) {
  if (code === "positives-in-sample" && !state.options.drop_known) {
    return button("Leave these out", () => {
      state.options = { ...state.options, drop_known: true };
      emit("choices");
    });
  }
  if ((code === "swapped-tables" || looksSwapped(code)) && filesOf("positives").length) {
    return button("Swap the two files", swap);
  }
  const said = `${sentence} ${reason} ${advice}`;
  const column = choices().features.find((name) => new RegExp(`(^|[^\\w])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}($|[^\\w])`).test(said));
  if (OF_COLUMNS.has(code) && column && choices().features.length > 1) {
    return button(`Leave out ${column}`, () => leaveOut(column));
  }
  if (TO_LABEL.has(code) && !severalTargets()) {
    return button("Label some rows", () => byId("labels").scrollIntoView());
  }
  return null;
}

// None of few rows are like many positives: perhaps the files are in each other's place.
function looksSwapped(code) {
  const [entry] = state.answer.result.totals.length ? state.answer.result.totals : state.answer.result.results;
  return TO_LABEL.has(code) && entry.prevalence < 0.02 && entry.n_unlabeled >= FEWEST_SWAPPED && state.answer.result.n_positives > 2 * entry.n_unlabeled;
}

// Without what only the command line and Python have.
export const plain = (text) => text.replace(/\s*\([^)]*(--| in Python)[^)]*\)/g, "");

// How the share differs from that of the other sample, in a sentence.
export function comparison() {
  const { difference, interval, samples } = state.compared;
  const points = (value) => `${Math.abs(100 * value).toFixed(1)} points ${value < 0 ? "fewer" : "more"}`;
  return `Compared with ${samples[1].name}: ${points(difference)}, between ${points(interval.low)} and ${points(interval.high)}.`;
}

const severalTargets = () => state.answer.result.targets.length > 0;

// The answer under each assumption that the data cannot settle, in the user's words.
export function readings() {
  const { positives } = nouns();
  const words = {
    typical: `The known ${positives} are typical, and others may look like them`,
    recognisable: "Nothing else looks like them, but their kinds may be mixed differently here",
    both: `The known ${positives} are typical, and nothing else looks like them`,
  };
  return h("table", { class: "plain" }, h("tbody", {}, state.answer.result.what_if.map(({ code, prevalence, interval }) =>
    h("tr", {}, h("th", { scope: "row" }, words[code]), h("td", {}, h("b", {}, share(prevalence, interval.high)), ` (${range(interval)})`)))));
}

// Where a warning is, if not everywhere.
export function places({ worst, where }) {
  const others = where.length - 1;
  const more = others ? ` and ${plural(others, "other group")}` : "";
  return state.answer.result.results.length > 1 ? `${worst}${more}: ` : "";
}

export async function check(path) {
  const current = () => state.answer?.path === path;
  state.checked = null;
  renderCheck();
  if (severalTargets()) {
    return;
  }
  try {
    if (filesOf("reference").length && state.options.method === "rcq") {
      const compared = await followUp(path, "comparison", {}, current);
      if (current()) {
        state.compared = compared;
        emit("known");
      }
    }
    const found = await followUp(path, "diagnosis", {}, current);
    if (current()) {
      state.checked = found;
    }
  } catch (error) {
    if (current()) {
      state.checked = { findings: [], skipped: [], scores: null, rows: error.message };
    }
  }
  if (!current()) {
    return;
  }
  renderCheck();
  emit("known");
  const known = state.labels[labelKey()];
  if (known) {
    await chooseRows(known.n);
  }
}

export function renderCheck() {
  const found = state.answer ? findings() : [];
  byId("check").hidden = !state.answer || (severalTargets() && !found.length);
  if (!state.answer) {
    return;
  }
  const doubts = found.filter(({ severity }) => severity !== "note");
  const fine = state.checked?.findings.filter(({ severity }) => severity === "ok") ?? [];
  byId("check-status").textContent = severalTargets() ? "" : !state.checked ? "Checking …" : doubts.length ? "worst first, each with one thing to do" : "nothing speaks against it";
  show("findings", found.map(findingCard));
  show("fine", fine.length ? h("details", {}, h("summary", {}, `${plural(fine.length, "check")} found nothing`), h("ul", {}, fine.map(({ title, sentence }) => h("li", {}, h("b", {}, `${title}: `), sentence))), h("p", { class: "hint" }, state.checked.rows)) : null);
  show("what-if", whatIf());
  show("scores", state.checked?.scores ? scoresPart() : null);
  byId("labels").hidden = severalTargets();
}

// What the answer and the check have found, each once.
function findings() {
  const { warnings } = state.answer.result;
  const checked = (state.checked?.findings ?? []).filter(({ severity }) => severity !== "ok");
  const codes = new Set(checked.map(({ code }) => code));
  const more = warnings.filter(({ code }) => !codes.has(code)).map((warning) => ({
    ...warning,
    title: "",
    advice: "",
    places: places(warning),
  }));
  return [...checked, ...more].sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const findingCard = (finding) =>
  h("li", { class: "card", "data-severity": finding.severity },
    h("h4", {}, h("span", { "aria-hidden": "true" }, `${ICONS[finding.severity]} `), finding.title || (finding.severity === "note" ? "Good to know" : "Take a second look")),
    h("p", {}, finding.places ?? "", plain(finding.sentence)),
    finding.advice && !actionFor(finding) ? h("p", {}, plain(finding.advice)) : null,
    actionFor(finding));

function whatIf() {
  return state.answer.result.what_if.length ? [h("h3", {}, "What if …"), readings()] : null;
}

function scoresPart() {
  const words = nouns();
  return [
    h("h3", {}, `Where the ${words.positives} should be`),
    scorePicture(state.checked.scores, words),
    h("p", { class: "hint" }, `Bars: all ${words.rows}. Line: the ${words.positives} expected among them, and what chance does to that. Where the line is clearly above the bars, the answer is too high, or the known ${words.positives} are not typical.`),
  ];
}

// Labels by hand

// Labels belong to the files and to what is learned from them.
const labelKey = () => JSON.stringify([state.answer.result.files.map(({ sha256 }) => sha256), state.answer.result.features, state.options.recognisable]);

export function startCheck() {
  byId("choose-rows").addEventListener("click", () => chooseRows(Number(byId("label-n").value) || 30));
}

async function chooseRows(n) {
  const { path } = state.answer;
  byId("label-status").textContent = "Choosing rows …";
  try {
    const found = await followUp(path, "audit", { n }, () => state.answer?.path === path);
    if (!found) {
      return;
    }
    asked = { path, n, ...found };
    byId("label-n").value = n;
    const key = labelKey();
    state.labels = { [key]: state.labels[key]?.n === n ? state.labels[key] : { n, rows: {} } };
    renderLabels();
    await settle();
  } catch (error) {
    byId("label-status").textContent = error.message;
  }
}

function renderLabels() {
  const { columns, rows } = asked;
  const [id, at] = [columns.indexOf("audit_id"), columns.indexOf("audit_row")];
  const places = columns.map((name, i) => [name, i]).filter(([name]) => !OURS.test(name));
  const { rows: given } = state.labels[labelKey()];
  show("to-label", h("table", { class: "cells" },
    h("thead", {}, h("tr", {}, [`${nouns().positives}?`, "row", ...places.map(([name]) => name)].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, answers(row[id], row[at], given[row[id]])), h("th", { scope: "row" }, String(row[at])),
      places.map(([, i]) => (row[i] === null ? h("td", { class: "missing" }, "missing") : h("td", {}, String(row[i])))))))));
}

const answers = (id, at, given) =>
  h("div", { class: "row", role: "radiogroup", "aria-label": `Is row ${at} one of the ${nouns().positives}?` }, [["yes", true], ["no", false]].map(([text, value]) =>
    h("label", {}, h("input", { type: "radio", name: `label-${id}`, value: text, checked: given === value, change: () => label(id, value) }), ` ${text}`)));

function label(id, value) {
  const known = state.labels[labelKey()];
  known.rows[id] = value;
  remember();
  clearTimeout(timer);
  timer = setTimeout(settle, WAIT_FOR_MORE);
}

async function settle() {
  const known = state.labels[labelKey()];
  const given = Object.keys(known.rows).length;
  const { path, n, rows } = asked;
  byId("label-status").textContent = `${given} of ${rows.length} rows are labelled.`;
  if (!given) {
    return;
  }
  try {
    const told = await followUp(path, "settlement", { n, labels: known.rows }, () => state.answer?.path === path);
    if (told && state.answer?.path === path) {
      state.settled = told;
      const { low, high, count, prevalence } = told.labels;
      const needed = told.labels_needed["0.08"];
      byId("settled").textContent = `By these labels: about ${whole(count)} ${nouns().positives}, ${share(prevalence, high)} (${range({ low, high })}). ${
        high - low > 0.08 && needed ? `About ${whole(needed)} labels would make this 8 points wide.` : ""}`;
      emit("known");
    }
  } catch (error) {
    byId("label-status").textContent = error.message;
  }
}

export function forgetCheck() {
  Object.assign(state, { checked: null, compared: null, settled: null });
  asked = null;
  show("to-label");
  byId("settled").textContent = "";
  byId("label-status").textContent = "";
}
