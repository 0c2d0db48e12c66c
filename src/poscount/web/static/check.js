// Check: what speaks against the answer, the worst first, each with one thing to do; and labels by hand.

import { followUp } from "./api.js";
import { scorePicture } from "./charts.js";
import { button, byId, h, listed, offer, plural, range, room, share, show, whole } from "./dom.js";
import { choices, leaveOut } from "./columns.js";
import { swap } from "./data.js";
import { emit, filesOf, nouns, remember, state } from "./state.js";

const SEVERITIES = ["do not use", "check", "note"];
const ICONS = { "do not use": "✕", check: "!", note: "i" };
// What is wrong with these can be mended by leaving a column out.
const OF_COLUMNS = new Set([
  "context-column", "constant-decides", "other-units", "missing-differs", "missing-code", "exchanged-columns", "code-among-positives",
  "unseen-words", "singular-covariance", "repeated-number",
]);
const TO_LABEL = new Set([
  "broken-assumption", "overlap", "nothing-like-positives", "unlike-experience", "hardly-recognisable", "few-positives", "few-positives-for-rcq",
]);
const OURS = /^(label|audit_.*)$/; // columns that are not of the file
const FEWEST_SWAPPED = 30; // rows, of which none being positive says something
const WAIT_FOR_MORE = 500; // milliseconds between two labels

let asked = null; // rows to label: {path, n, columns, rows}
let timer = 0;
let turns = 0; // how often rows were chosen: only the last time counts

// The one thing to do about something that was found.
export function actionFor({ code, sentence, reason = "" }) {
  if (code === "positives-in-sample" && !state.options.drop_known) {
    return button("Leave these out", () => {
      state.options = { ...state.options, drop_known: true };
      emit("choices");
    });
  }
  if ((code === "swapped-tables" || looksSwapped(code)) && filesOf("positives").length) {
    return button("Swap the two files", swap);
  }
  const said = `${sentence} ${reason}`;
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

// In the user's words: without what only the command line and Python have, and without the names of
// methods that nobody has asked for.
export function plain(text) {
  const said = text.replace(/\s*\([^)]*(--| in Python|SubclassRCQ)[^)]*\)/g, "").replaceAll("labelled positives", `known ${nouns().positives}`);
  if (state.options.method !== "rcq") {
    return said;
  }
  const other = (_, start) => `${start}${start === " " ? "another" : "Another"} method`;
  return said.replace("Try TRCQ, and report", "Report").replaceAll("Agreement of PAT and RCQ", "Agreement with another method")
    .replace(/(^|\. | )(?:PAT|DEDPUL)\b/g, other).replace(/\bRCQ\b/g, "this method");
}

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
      state.checked = { findings: [], methods: {}, scores: null, problem: error.message };
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
  byId("check").hidden = !state.answer;
  if (!state.answer) {
    return;
  }
  const doubts = found.filter(({ severity }) => severity !== "note");
  byId("check-status").textContent = severalTargets() ? (found.length ? "" : "there is nothing more to check about several kinds at once") : !state.checked ? "Checking …" : state.checked.problem ? `not checked: ${state.checked.problem}` : doubts.length ? "worst first, each with one thing to do" : `nothing speaks against it${found.length ? "; good to know:" : ""}`;
  show("findings", found.map(findingCard));
  show("what-if", whatIf(), methodsPart());
  show("scores", state.checked?.scores ? scoresPart() : null);
  byId("labels").hidden = severalTargets();
}

// What the answer and the check have found, each once: the check may have asked another method.
function findings() {
  const { warnings } = state.answer.result;
  const codes = new Set(warnings.map(({ code }) => code));
  const more = (state.checked?.findings ?? []).filter(({ code }) => !codes.has(code));
  const found = [...warnings.map((warning) => ({ ...warning, places: places(warning) })), ...more];
  return found.sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

const findingCard = (finding) =>
  h("li", { class: "card", "data-severity": finding.severity },
    h("h3", {}, h("span", { "aria-hidden": "true" }, `${ICONS[finding.severity]} `), finding.reason ? capital(plain(finding.reason)) : "Good to know"),
    h("p", {}, finding.places ?? "", plain(finding.sentence)),
    actionFor(finding));

function whatIf() {
  return state.answer.result.what_if.length ? [h("h3", {}, "What if …"), readings()] : null;
}

// What other methods make of the same rows, and what follows from it.
export function agreement() {
  const said = Object.values(state.checked?.methods ?? {});
  const [{ interval }] = state.answer.result.totals.length ? state.answer.result.totals : state.answer.result.results;
  if (!said.length || !interval || !state.answer.result.quantiles) {
    return "";
  }
  // They are off by chance, too.
  const slack = (interval.high - interval.low) / 2;
  const away = said.filter((value) => value < interval.low - slack || value > interval.high + slack);
  const shares = said.map((value) => share(value, Math.max(...said)));
  const begin = said.length === 1 ? `Another method, which learns in another way, says ${shares[0]}` : `Other methods, which learn in other ways, say ${listed(shares)}`;
  const inside = said.every((value) => value >= interval.low && value <= interval.high);
  return away.length
    ? `${begin}: ${listed(away.map((value) => share(value, Math.max(...said))))} is far outside of the range, so that the answer depends on what is assumed. Labels of some rows would settle it.`
    : `${begin}, ${inside ? "within" : "near"} the range of the answer.`;
}

const METHODS = { RCQ: "compares regions in which hardly any others are", PAT: "compares how far rows are from the known ones", DEDPUL: "learns to tell both tables apart" };

function methodsPart() {
  const conclusion = agreement();
  if (!conclusion) {
    return null;
  }
  const line = ([name, value]) => h("tr", {}, h("th", { scope: "row" }, `${name}: ${METHODS[name]}`), h("td", {}, h("b", {}, share(value))));
  return [h("h3", {}, "Do other methods agree?"), h("p", { id: "agreement" }, conclusion),
    h("details", {}, h("summary", {}, "Which methods"), h("table", { class: "plain" }, h("tbody", {}, Object.entries(state.checked.methods).map(line))))];
}

function scoresPart() {
  const words = nouns();
  const key = (name, text) => h("span", { class: name }, h("i", { "aria-hidden": "true" }), text);
  return [
    h("h3", {}, `Where the ${words.positives} should be`),
    h("p", { class: "key" }, key("", `all ${words.rows}`), key("expect", `${words.positives} expected among them`), key("chance", "what chance does to that")),
    scorePicture(state.checked.scores, state.answer.result.n_positives, words, room("scores", 480)),
    h("p", { class: "hint" }, `Where the line and all of its band are above the bars, the answer is too high, or the known ${words.positives} are not typical.`),
  ];
}

// Labels by hand

// Labels belong to the files and to what is learned from them.
const labelKey = () => JSON.stringify([state.answer.result.files.map(({ sha256 }) => sha256), state.answer.result.features, state.options.recognisable]);

export function startCheck() {
  byId("choose-rows").addEventListener("click", () => chooseRows(Number(byId("label-n").value) || 30));
  byId("save-labels").addEventListener("click", saveLabels);
  byId("open-labels").addEventListener("change", openLabels);
}

// More rows are those of before and others, so that no label is lost.
async function chooseRows(n) {
  const { path } = state.answer;
  const turn = ++turns;
  const current = () => state.answer?.path === path && turn === turns;
  byId("label-status").textContent = "Choosing rows …";
  try {
    const found = await followUp(path, "audit", { n }, current);
    if (!found || !current()) {
      return;
    }
    asked = { path, n, ...found };
    byId("label-n").value = n;
    state.labels = { [labelKey()]: { n, rows: given() } };
    renderLabels();
    await settle();
  } catch (error) {
    byId("label-status").textContent = error.message;
  }
}

const given = () => state.labels[labelKey()]?.rows ?? {};

// As a file that `poscount settle` reads, too.
function saveLabels() {
  const { columns, rows } = asked;
  const [id, at] = [columns.indexOf("audit_id"), columns.indexOf("label")];
  const word = (value) => (value === undefined ? "" : value ? "yes" : "no");
  const cell = (value) => {
    const text = typeof value === "string" && /^[=+@-]/.test(value) ? `'${value}` : String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((row) => row.map((value, i) => (i === at ? word(given()[row[id]]) : value)));
  const text = [columns, ...lines].map((line) => line.map(cell).join(",")).join("\r\n");
  offer(new Blob([`\ufeff${text}\r\n`], { type: "text/csv" }), "poscount-labels.csv");
}

async function openLabels({ target }) {
  const [file] = target.files;
  target.value = "";
  const [columns, ...lines] = cellsOf((await file.text()).replace(/^\ufeff/, ""));
  const [id, at, design] = ["audit_id", "label", "audit_design"].map((name) => columns.indexOf(name));
  const labels = lines.filter((line) => id >= 0 && /^(yes|y|1|true|positive|no|n|0|false|negative)$/i.test(line[at] ?? "")).map((line) => [line[id], /^(yes|y|1|true|positive)$/i.test(line[at])]);
  let n = 0;
  try {
    ({ n } = JSON.parse(lines[0][design]));
  } catch {
    n = 0; // said below
  }
  if (!labels.length || !n) {
    byId("label-status").textContent = `${file.name} has no labels of rows that were chosen here.`;
    return;
  }
  state.labels = { [labelKey()]: { n, rows: Object.fromEntries(labels) } };
  await chooseRows(n);
}

// The cells of a text with commas between them, or semicolons.
function cellsOf(text) {
  const mark = /^[^\n"]*;/.test(text) ? ";" : ",";
  const lines = [[""]];
  for (const [part, quoted] of text.matchAll(/"((?:[^"]|"")*)"|\r?\n|[,;]|[^",;\r\n]+/g)) {
    const line = lines.at(-1);
    if (part === mark) {
      line.push("");
    } else if (/^\r?\n$/.test(part)) {
      lines.push([""]);
    } else {
      line[line.length - 1] += quoted === undefined ? part : quoted.replaceAll('""', '"');
    }
  }
  return lines;
}

function renderLabels() {
  const { columns, rows } = asked;
  const [id, at] = [columns.indexOf("audit_id"), columns.indexOf("audit_row")];
  const places = columns.map((name, i) => [name, i]).filter(([name]) => !OURS.test(name));
  const labels = given();
  byId("save-labels").hidden = false;
  show("to-label", h("table", { class: "cells" },
    h("thead", {}, h("tr", {}, [`${nouns().positives}?`, "row", ...places.map(([name]) => name)].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("td", {}, answers(row[id], row[at], labels[row[id]])), h("th", { scope: "row" }, String(row[at])),
      places.map(([, i]) => (row[i] === null ? h("td", { class: "missing" }, "missing") : h("td", {}, String(row[i])))))))));
}

const answers = (id, at, value) =>
  h("div", { class: "row", role: "radiogroup", "aria-label": `Is row ${at} one of the ${nouns().positives}?` }, [["yes", true], ["no", false]].map(([text, is]) =>
    h("label", {}, h("input", { type: "radio", name: `label-${id}`, value: text, checked: value === is, change: () => label(id, is) }), ` ${text}`)));

function label(id, value) {
  const known = state.labels[labelKey()];
  known.rows[id] = value;
  remember();
  clearTimeout(timer);
  timer = setTimeout(settle, WAIT_FOR_MORE);
}

async function settle() {
  const { path, n, rows, columns } = asked;
  const drawn = new Set(rows.map((row) => row[columns.indexOf("audit_id")]));
  const labels = Object.fromEntries(Object.entries(given()).filter(([id]) => drawn.has(id)));
  const done = Object.keys(labels).length;
  byId("label-status").textContent = `${done} of ${rows.length} rows are labelled.`;
  if (!done) {
    return;
  }
  try {
    const told = await followUp(path, "settlement", { n, labels }, () => state.answer?.path === path);
    if (told && state.answer?.path === path) {
      state.settled = told;
      const { low, high, count, prevalence } = told.labels;
      const needed = told.labels_needed["0.08"];
      const more = high - low > 0.08 && needed > rows.length && done === rows.length;
      show("settled", `By these labels: about ${whole(count)} ${nouns().positives}, ${share(prevalence, high)} (${range({ low, high })}). `,
        more ? [`About ${whole(needed)} labels would make this 8 points wide. `, button(`Choose ${whole(needed)} rows`, () => chooseRows(needed))] : null);
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
  show("settled");
  byId("save-labels").hidden = true;
  byId("label-status").textContent = "";
}
