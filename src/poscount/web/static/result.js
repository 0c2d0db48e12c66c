// The answer, in a sentence, as a picture and in a table.

import { legend, scoreChart, shareChart, stackedChart } from "./charts.js";
import { byId, element, fillList, percent, say, whole } from "./page.js";
import { isDoubtful, showTable } from "./results_table.js";

const NAMES = {
  "result.csv": "the numbers, for a spreadsheet (CSV)",
  "result.json": "everything, for programs (JSON)",
  "report.html": "a report to read and to share (HTML, one file)",
  "model.poscount": "the model, for use on other data with the command line",
  "prevalence.svg": "the picture, for print (SVG)",
  "prevalence.png": "the picture (PNG)",
  "diagnosis.html": "the check of the assumptions, with pictures (HTML, one file)",
};
const STATUSES = ["no reason to doubt", "check", "do not use"];
const FEWEST_TO_FILTER = 8;

let answer = null;

export function startResult() {
  byId("filter").addEventListener("input", showGroups);
  byId("order").addEventListener("change", showGroups);
}

export function showResult(told, downloads, base) {
  answer = told;
  const [first] = answer.results;
  const alone = answer.results.length === 1;
  say("share", alone ? percent(first.prevalence) : "");
  say("headline", alone ? shortly(first) : answer.headline);
  say("verdict", answer.verdict);
  byId("verdict").dataset.status = STATUSES[Math.max(...answer.results.map((entry) => STATUSES.indexOf(entry.verdict.status)))];
  byId("filter").value = "";
  byId("find-groups").hidden = answer.results.length < FEWEST_TO_FILTER;
  showGroups();
  showWarnings(answer);
  fillList("meaning", answer.meaning);
  fillList("doubts", answer.doubts);
  showDownloads(answer, downloads, base);
  say("methods-paragraph", answer.methods_paragraph);
  say("made", answer.made);
  showModelColumns(answer.columns);
  say("command", answer.command);
  say("python", answer.python);
  byId("welcome").hidden = true;
  byId("result").hidden = false;
  document.body.dataset.answered = "true";
  byId("result-title").focus();
}

// What stands beside the large number.
function shortly({ n_unlabeled: rows, count, interval }) {
  const range = interval
    ? ` · ${+(100 * interval.level).toPrecision(4)} % interval ${percent(interval.low)} to ${percent(interval.high)}`
    : " · no interval: set Replicates to see how uncertain it is";
  return `of ${whole(rows)} rows are positive, about ${whole(count)}${range}`;
}

// The groups that are looked for, in the order that is wanted: in the picture and in the table.
function showGroups() {
  const words = byId("filter").value.trim().toLowerCase();
  const found = answer.results.filter((entry) => entry.label.toLowerCase().includes(words));
  const byShare = byId("order").value === "share";
  const entries = byShare ? [...found].sort((a, b) => b.prevalence - a.prevalence) : found;
  showTable(answer, entries);
  showPicture(entries, answer.series && !byShare);
}

function showPicture(entries, series) {
  const box = byId("picture");
  const drawing = element("div", "");
  if (entries.length === 0) {
    box.replaceChildren(element("p", "No group has this in its name."));
    return;
  }
  const title = `Chart of the numbers in the table. ${answer.headline}`;
  if (answer.results.length === 1 && answer.scores) {
    box.replaceChildren(
      drawing,
      legend([["sample-bar", "rows of the sample"], ["line", "positives, scaled to the estimate"]]),
      element("p", answer.scores.sentence, { class: "hint" }),
    );
    scoreChart(drawing, answer.scores, { title });
    return;
  }
  if (answer.targets.length) {
    showTargets(box, drawing, entries, title);
    return;
  }
  const level = entries.find((entry) => entry.interval)?.interval.level;
  box.replaceChildren(
    drawing,
    legend([
      ["dot", "estimate"],
      ...(level ? [["band", `${+(100 * level).toPrecision(4)} % interval`]] : []),
      ...(entries.some(isDoubtful) ? [["doubt", "doubtful"]] : []),
      ...(answer.truth ? [["truth", "truth"]] : []),
    ]),
  );
  shareChart(drawing, entries.map(chartEntry), { title, series });
}

// The shares of several targets on top of each other, a bar for each group.
function showTargets(box, drawing, entries, title) {
  const groups = new Map();
  for (const { group, prevalence } of entries) {
    const { target, ...rest } = group;
    const label = Object.values(rest).map((value) => value ?? "missing").join(", ") || "all rows";
    groups.set(label, [...(groups.get(label) ?? []), { name: target, share: prevalence }]);
  }
  const { targets } = answer;
  box.replaceChildren(
    drawing,
    legend(targets.map((name, i) => [i === targets.length - 1 ? "part-other" : `part-${i % 8}`, name])),
  );
  stackedChart(drawing, [...groups].map(([label, parts]) => ({ label, parts })), { title });
}

const chartEntry = (entry) => ({
  label: entry.label,
  share: entry.prevalence,
  low: entry.interval?.low ?? null,
  high: entry.interval?.high ?? null,
  truth: entry.truth,
  doubtful: isDoubtful(entry),
  lines: [
    `${percent(entry.prevalence)} of ${whole(entry.n_unlabeled)} rows`,
    ...(entry.interval ? [`${percent(entry.interval.low)} to ${percent(entry.interval.high)}`] : []),
    ...(entry.truth === null ? [] : [`truth: ${percent(entry.truth)}`]),
    ...(isDoubtful(entry) ? ["doubtful: see the warnings"] : []),
  ],
});

function showModelColumns(columns) {
  byId("model-columns").replaceChildren(
    ...columns.map(({ name, kind, done }) => {
      const row = document.createElement("tr");
      row.append(element("th", name, { scope: "row" }), element("td", kind), element("td", done));
      return row;
    }),
  );
}

// The doubts first; notes look less alarming.
function showWarnings({ results, warnings }) {
  const alone = results.length === 1;
  const doubts = warnings.filter(({ severity }) => severity !== "note");
  byId("warnings-part").hidden = warnings.length === 0;
  const second = alone ? "Take a second look" : "Groups that need a second look";
  say("warnings-title", doubts.length ? second : "Good to know");
  byId("warnings").replaceChildren(
    ...[...doubts, ...warnings.filter(({ severity }) => severity === "note")].map((warning) => {
      const { sentence, severity, where, worst } = warning;
      const item = element("li", "", { "data-severity": severity });
      if (!alone) {
        const others = where.length - 1;
        const more = others ? ` and ${others === 1 ? "1 other group" : `${others} other groups`}` : "";
        item.append(element("strong", `${worst}${more}: `));
      }
      item.append(sentence);
      return item;
    }),
  );
}

export function showDownloads({ no_model: noModel }, downloads, base) {
  byId("downloads").replaceChildren(...downloads.map((name) => downloadItem(name, base)));
  if (noModel) {
    byId("downloads").append(element("li", `No model file: ${noModel}`));
  }
}

function downloadItem(name, base) {
  const item = document.createElement("li");
  item.append(element("a", name, { href: `${base}/${name}`, download: `poscount-${name}` }));
  item.append(`: ${NAMES[name]}`);
  return item;
}
