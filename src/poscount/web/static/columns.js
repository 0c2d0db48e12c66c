// Columns: the grid is the chooser. Each column is a measurement, splits the answer, or is ignored.

import { histogram } from "./charts.js";
import { button, byId, h, listed, plural, share, show, whole } from "./dom.js";
import { chooseLabel, fixButtons, labelColumns, select } from "./data.js";
import { emit, filesOf, marked, nouns, state } from "./state.js";

const USE = "use";
const NOT_USED = "none";
const TARGETS = "targets";
const LABEL = "label";
const GROUP = "group:"; // and what the server groups by
const MOST_GROUPINGS = 3;
const SHOWN = 60; // columns at once
const ROWS = 4;
const NO_NAME = "(no name)";

let all = false;

const columns = () => (state.session?.columns ?? []).filter(({ name }) => !filesOf("table").length || name !== state.label.column);

function options({ name, usable, groupings, targets }) {
  const labels = filesOf("table").length === 0 && labelColumns().includes(name);
  return [
    ...(usable ? [[USE, "measurement"]] : []),
    ...groupings.map(({ by, period }) => [GROUP + by, period ? `split by ${period}` : "split by it"]),
    ...(targets ? [[TARGETS, `names ${targets} kinds to count`]] : []),
    ...(labels ? [[LABEL, "says what is known"]] : []),
    [NOT_USED, "ignore"],
  ];
}

function valueOf(column) {
  const wanted = state.picked[column.name];
  const possible = options(column).some(([value]) => value === wanted);
  return possible ? wanted : column.use ? USE : NOT_USED;
}

export function choices() {
  const values = columns().map((column) => [column, valueOf(column)]);
  const table = filesOf("table").length > 0;
  return {
    features: values.filter(([, value]) => value === USE).map(([{ name }]) => name),
    by: values.filter(([, value]) => value.startsWith(GROUP)).map(([, value]) => value.slice(GROUP.length)),
    target_column: values.find(([, value]) => value === TARGETS)?.[0].name ?? null,
    ...(table ? { label: state.label.column, positive: marked("positive"), negative: marked("negative") } : {}),
  };
}

// Why nothing can be counted yet; empty if something can.
export function whyNotYet() {
  const { features, by } = choices();
  if (filesOf("table").length && !marked("positive").length) {
    return `Say which values of ${state.label.column} mean known positives.`;
  }
  if (features.length === 0) {
    return columns().some(({ usable }) => usable) ? "Choose at least one measurement." : "No column can be used yet; see what is said about the columns.";
  }
  return by.length > MOST_GROUPINGS ? `Split by at most ${MOST_GROUPINGS} columns.` : "";
}

// Columns that may only be called otherwise, all of them by one click.
function renameAll() {
  const fixes = columns().flatMap((column) => column.fixes).filter(({ setting }) => setting === "rename");
  const roles = new Set(fixes.map(({ role }) => role));
  if (fixes.length < 2 || roles.size > 1) {
    return null;
  }
  const all = { ...fixes[0], label: `Yes, all ${fixes.length} of them`, value: fixes.map(({ value }) => value).join("\n") };
  return h("li", {}, "Some columns seem to have other names there. ", fixButtons([all], {}));
}

export function pick(name, value) {
  if (value === LABEL) {
    chooseLabel(name);
    return;
  }
  state.picked = { ...state.picked, [name]: value };
  renderColumns();
  emit("choices");
}

export const leaveOut = (name) => pick(name, NOT_USED);

export function renderColumns() {
  const known = columns();
  byId("columns").hidden = known.length === 0;
  const words = byId("find-column").value.trim().toLowerCase();
  byId("find").hidden = known.length <= SHOWN;
  const found = known.filter(({ name }) => name.toLowerCase().includes(words));
  const shown = all ? found : found.slice(0, SHOWN);
  show("column-notes", renameAll(), known.filter(({ problem, no_periods: noPeriods }) => problem || noPeriods).slice(0, SHOWN).map(note));
  show("grid", h("table", { class: "cells" },
    h("thead", {}, h("tr", {}, shown.map(head))),
    h("tbody", {}, Array.from({ length: ROWS }, (_, i) => h("tr", {}, shown.map(({ name }) => cellOf(name, i)))))));
  const more = found.length - shown.length;
  show("more-columns", more > 0 && button(`Show ${plural(more, "more column")}`, () => {
    all = true;
    renderColumns();
  }));
  byId("learned").textContent = sentence();
}

// From what is counted, or from the positives if the column is not there.
function cellOf(name, row) {
  const file = filesOf("unlabeled", "table").find(({ columns }) => columns.includes(name)) ?? filesOf("positives")[0];
  const text = file?.preview[row]?.[file.columns.indexOf(name)];
  return text === null ? h("td", { class: "missing" }, "missing") : h("td", {}, text ?? "");
}

function head(column) {
  const possible = options(column);
  const value = valueOf(column);
  const chooser = possible.length > 1 ? select(`Use of ${column.name}`, possible, value, (to) => pick(column.name, to), { "data-column": column.name }) : h("span", {}, "ignored");
  return h("th", { scope: "col", class: value === NOT_USED ? "ignored" : null },
    h("span", { class: "name" }, column.name || NO_NAME), picture(column), chooser, h("span", { class: "hint" }, about(column)));
}

// Positives over the sample; in a table, of the rows with these labels.
function picture({ name }) {
  const [table] = filesOf("table");
  const first = (role) => filesOf(role).filter(({ sketches }) => sketches[name]).slice(0, 1).map(({ sketches }) => ({ n: 1, ...sketches[name] }));
  if (!table?.by_label.length) {
    return histogram(first("positives"), first(table ? "table" : "unlabeled"), name, nouns());
  }
  const counts = new Map(table.sketches[state.label.column]?.values ?? []);
  const labelled = (mark) => table.by_label.filter(([value, of]) => state.label.marks[value] === mark && of[name]).map(([value, of]) => ({ n: counts.get(value), ...of[name] }));
  return histogram(labelled("positive"), labelled(), name, nouns());
}

function about({ kind, missing, missing_unlabeled: unlabeled, why_not: reason }) {
  const of = filesOf("table").length ? [[unlabeled, "of the rows"]] : [[missing, "of the positives"], [unlabeled, "of the others"]];
  const gaps = of.filter(([part]) => part);
  const lacking = gaps.length ? `missing in ${gaps.map(([part, where]) => `${share(part)} ${where}`).join(", ")}` : "";
  return [reason ?? (kind === "category" ? "words" : kind), lacking].filter(Boolean).join("; ");
}

const note = ({ problem, no_periods: noPeriods, fixes }) =>
  h("li", {}, h("span", {}, problem ?? noPeriods), " ", fixButtons(fixes, {}));

// What will be done, in one sentence.
export function sentence() {
  const { features, by, target_column: target } = choices();
  const ignored = columns().filter((column) => valueOf(column) === NOT_USED).map((column) => leftOut(column));
  const learn = `Learn from ${plural(features.length, "measurement")} (${listed(features)})`;
  const split = by.length ? `, split by ${by.map(spoken).join(" and ")}` : "";
  const kinds = target === null ? "" : `, count each ${target}`;
  return features.length ? `${learn}${split}${kinds}${ignored.length ? `; leave out ${listed(ignored)}` : ""}.` : "";
}

function leftOut({ name }) {
  const why = state.answer?.result.left_out[name];
  return `${name || NO_NAME}${why ? ` (${why})` : ""}`;
}

// What the server groups by, as people say it.
function spoken(by) {
  const owner = columns().find(({ groupings }) => groupings.some((grouping) => grouping.by === by));
  const { period } = owner.groupings.find((grouping) => grouping.by === by);
  return period ? `${period} of ${owner.name}` : owner.name;
}

export function startColumns() {
  byId("find-column").addEventListener("input", renderColumns);
}

export const columnsLine = () => sentence() || `${whole(columns().length)} columns`;
