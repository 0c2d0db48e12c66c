// The table of results: that of all rows together on top, the groups sorted by any column.

import { byId, element, percent, whole } from "./page.js";
import { rowsShown, showPager } from "./pager.js";

let shown = null; // {answer, entries, sorted: {key, down}, first}

const intervalText = ({ interval }) => (interval ? `${percent(interval.low)} to ${percent(interval.high)}` : "none");

function columnsOf({ label_title: title, truth, results }) {
  const level = results.find((entry) => entry.interval)?.interval.level;
  return [
    { key: "label", head: title, text: (entry) => entry.label, sort: (entry) => entry.label },
    { key: "share", head: "share", number: true, text: (entry) => percent(entry.prevalence), sort: (entry) => entry.prevalence },
    {
      key: "interval", head: level ? `${+(100 * level).toPrecision(4)} % interval` : "interval", number: true,
      text: intervalText, sort: (entry) => entry.interval?.low ?? -1,
    },
    ...(truth ? [{ key: "truth", head: "truth", number: true, text: (entry) => (entry.truth === null ? "" : percent(entry.truth)), sort: (entry) => entry.truth }] : []),
    { key: "positives", head: "positives", number: true, text: (entry) => whole(entry.count), sort: (entry) => entry.count },
    { key: "rows", head: "rows", number: true, text: (entry) => whole(entry.n_unlabeled), sort: (entry) => entry.n_unlabeled },
    { key: "verdict", head: "verdict", text: (entry) => entry.verdict.status, sort: (entry) => entry.verdict.status },
    {
      key: "warnings", head: "warnings",
      text: (entry) => entry.warnings.map((warning) => warning.code).join(", ") || "none",
      sort: (entry) => entry.warnings.length,
    },
  ];
}

export const isDoubtful = ({ verdict }) =>
  verdict.status !== "no reason to doubt";

export function showTable(answer, entries = answer.results) {
  const kept = shown?.answer === answer ? shown.sorted : { key: null, down: false };
  shown = { answer, entries, sorted: kept, first: 0 };
  draw();
}

function draw() {
  const { answer, entries, sorted, first } = shown;
  const size = rowsShown();
  const columns = columnsOf(answer);
  byId("heads").replaceChildren(...columns.map((column) => headCell(column, sorted)));
  const by = columns.find(({ key }) => key === sorted.key);
  const ordered = by ? [...entries].sort((a, b) => compare(by.sort(a), by.sort(b)) * (sorted.down ? -1 : 1)) : entries;
  // The answer for all rows together stays on top, however the groups are sorted.
  const lines = [...answer.totals, ...ordered.slice(first, first + size)];
  byId("rows").replaceChildren(...lines.map((entry) => bodyRow(entry, columns)));
  showPager(byId("rows-pager"), { first, size, total: ordered.length, what: "Groups" }, (to) => {
    shown.first = to;
    draw();
  });
}

const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));

function headCell({ key, head, number }, sorted) {
  const order = sorted.key === key ? (sorted.down ? "descending" : "ascending") : "none";
  const cell = element("th", "", { scope: "col", "aria-sort": order, ...(number ? { class: "number" } : {}) });
  const button = element("button", `${head}${{ none: "", ascending: " ▴", descending: " ▾" }[order]}`, { type: "button" });
  button.addEventListener("click", () => {
    shown.sorted = { key, down: sorted.key === key ? !sorted.down : Boolean(number) };
    shown.first = 0;
    draw();
    byId("heads").querySelectorAll("button")[[...byId("heads").children].findIndex((th) => th.textContent.startsWith(head))]?.focus();
  });
  cell.append(button);
  return cell;
}

function bodyRow(entry, columns) {
  const row = document.createElement("tr");
  const [first, ...rest] = columns;
  row.append(element("th", first.text(entry), { scope: "row" }));
  for (const column of rest) {
    const classes = [...(column.number ? ["number"] : []), ...(column.key === "verdict" && isDoubtful(entry) ? ["doubt"] : [])];
    row.append(element("td", column.text(entry), { "data-label": column.head, class: classes.join(" ") }));
  }
  return row;
}

