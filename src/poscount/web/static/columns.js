// Step 2: what each column is, how much of it is missing, and what to do with it.

import { fixButtons } from "./fixes.js";
import { byId, element, percent, say, whole } from "./page.js";

const USE = "use";
const NOT_USED = "none";
const TARGETS = "targets"; // it names the target of each positive
const GROUP = "group:"; // and what the server groups by
const MOST_GROUPINGS = 3;

let columns = []; // as the server last described them
let mostGroups = 0;
let picked = new Map(); // what somebody chose, by the name of the column
let onChoice = () => {};

export function startColumns(limits, changed) {
  mostGroups = limits.groups;
  onChoice = changed;
  byId("use-all").addEventListener("click", () => pickAll(USE));
  byId("use-none").addEventListener("click", () => pickAll(NOT_USED));
}

// A choice is kept when another file comes in, as long as it is still possible.
export function showColumns(session) {
  columns = session?.columns ?? [];
  if (columns.length === 0) {
    picked = new Map();
  }
  byId("columns").replaceChildren(...columns.map(columnItem));
  const roles = new Set((session?.files ?? []).map((file) => file.role));
  say("kinds-hint", roles.has("positives") ? "" : "Add the positives: they decide which columns can be used.");
  showGroups();
}

export function forgetChoices() {
  picked = new Map();
}

export const pickedChoices = () => [...picked];

export function restoreChoices(entries) {
  picked = new Map(entries);
}

export function groupBy(name) {
  picked.set(name, GROUP + name);
}

// What an estimate is to learn from, and by what its rows are grouped.
export function choices() {
  const values = columns.map((column) => [column, valueOf(column)]);
  return {
    features: values.filter(([, value]) => value === USE).map(([{ name }]) => name),
    by: values.filter(([, value]) => value.startsWith(GROUP)).map(([, value]) => value.slice(GROUP.length)),
    target_column: values.find(([, value]) => value === TARGETS)?.[0].name ?? null,
  };
}

// Why nothing can be estimated with these choices; empty if something can.
export function whyNotYet() {
  const { features, by } = choices();
  if (features.length === 0) {
    return columns.some((column) => column.usable)
      ? "Choose at least one column to use."
      : "No column can be used yet; see what is said beside the columns.";
  }
  if (by.length > MOST_GROUPINGS) {
    return `Choose at most ${MOST_GROUPINGS} columns as groups.`;
  }
  const known = columns.flatMap((column) => column.groupings).filter((grouping) => by.includes(grouping.by));
  const n = known.reduce((product, { groups }) => product * groups, 1);
  return n > mostGroups ? `${by.join(", ")}: this makes more than ${whole(mostGroups)} groups.` : "";
}

// What would fix the columns if none of them can be used: each setting once.
export function usefulFixes() {
  const fixes = columns.some((column) => column.usable) ? [] : columns.flatMap((column) => column.fixes ?? []);
  return [...new Map(fixes.map((fix) => [JSON.stringify(fix), fix])).values()];
}

function options({ usable, groupings, targets }) {
  return [
    ...(usable ? [[USE, "use it"]] : []),
    ...(targets ? [[TARGETS, `names the ${targets} targets`]] : []),
    ...groupings.map(({ by, period }) => [GROUP + by, `as group: each ${period ?? "value"}`]),
    [NOT_USED, "not used"],
  ];
}

function valueOf(column) {
  const wanted = picked.get(column.name);
  const possible = options(column).some(([value]) => value === wanted);
  return possible ? wanted : column.use ? USE : NOT_USED;
}

function columnItem(column, i) {
  const item = document.createElement("li");
  const about = element("span", "", { class: "about" });
  about.append(element("span", kindText(column), { class: "kind", "data-kind": column.kind }), ` ${gapsText(column)}`);
  item.append(
    element("span", column.name || "(no name)", { class: "name", id: `column-${i}` }),
    choiceOf(column, i),
    about,
  );
  const text = column.problem ?? reason(column);
  if (text) {
    const note = element("p", text, { id: `note-${i}`, class: `note ${column.problem ? "error" : "hint"}` });
    item.append(note, ...fixButtons(column.fixes ?? []));
  }
  return item;
}

// What is missing is said where something is.
function gapsText({ missing, missing_unlabeled: unlabeled }) {
  const parts = [
    [missing, "of the positives"],
    [unlabeled, "of the unlabeled rows"],
  ].filter(([share]) => share);
  return parts.length ? `missing in ${parts.map(([share, where]) => `${gaps(share)} ${where}`).join(", ")}` : "";
}

function kindText({ kind, distinct }) {
  if (kind !== "category" || distinct === null) {
    return kind;
  }
  return `category, ${distinct === 1 ? "1 value" : `${whole(distinct)} values`}`;
}

// What is missing in one row of many is not said to be missing nowhere.
const gaps = (share) => (share < 0.0005 ? "< 0.1 %" : percent(share));

function reason({ kind, why_not: text, no_periods: noPeriods }) {
  const groups = kind === "date" ? (noPeriods ?? "Rows can be grouped by it.") : "";
  return text ? `It ${text}. ${groups}`.trim() : groups;
}

function choiceOf(column, i) {
  const possible = options(column);
  if (possible.length === 1) {
    return element("span", "not used");
  }
  const noted = column.problem || reason(column) ? { "aria-describedby": `note-${i}` } : {};
  const select = element("select", "", { "aria-labelledby": `column-${i}`, "data-column": column.name, ...noted });
  select.append(...possible.map(([value, text]) => element("option", text, { value })));
  select.value = valueOf(column);
  select.addEventListener("change", () => {
    picked.set(column.name, select.value);
    changed();
  });
  return select;
}

function pickAll(value) {
  for (const column of columns) {
    // Columns that are groups stay groups, and nothing doubtful is used unasked.
    const now = valueOf(column);
    if (now === NOT_USED ? value === USE && column.use : now === USE) {
      picked.set(column.name, value);
    }
  }
  for (const select of document.querySelectorAll("#columns select")) {
    select.value = valueOf(columns.find(({ name }) => name === select.dataset.column));
  }
  changed();
}

function changed() {
  showGroups();
  onChoice();
}

function showGroups() {
  const { features, by, target_column: target } = choices();
  const used = features.length === 1 ? "1 column is used" : `${whole(features.length)} columns are used`;
  const groups = by.length ? `one answer for each ${by.map(spoken).join(" and ")}` : "one answer for all rows";
  const shares = target === null ? groups : `${groups} and ${target}`;
  say("chosen", columns.length ? `${used}; ${shares}.` : "");
}

// What the server groups by, as people say it.
function spoken(by) {
  const owner = columns.find(({ groupings }) => groupings.some((grouping) => grouping.by === by));
  const { period } = owner.groupings.find((grouping) => grouping.by === by);
  return period ? `${period} of ${owner.name}` : owner.name;
}
