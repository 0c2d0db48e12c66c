// The answer, in words, in a table and as a picture.

import { byId, element, fillList, percent, say, whole } from "./page.js";

const NAMES = {
  "result.csv": "the numbers, for a spreadsheet (CSV)",
  "result.json": "everything, for programs (JSON)",
  "report.html": "a report to read and to share (HTML, one file)",
  "model.poscount": "the model, for use on other data with the command line",
  "prevalence.svg": "the picture, for print (SVG)",
  "prevalence.png": "the picture (PNG)",
  "diagnosis.html": "the check of the assumptions, with pictures (HTML, one file)",
};

export function showResult(answer, downloads, base) {
  say("headline", answer.headline);
  say("verdict", answer.verdict);
  byId("verdict").dataset.grade = worstGrade(answer.results);
  showTable(answer);
  showPicture(answer, base);
  showWarnings(answer);
  fillList("meaning", answer.meaning);
  fillList("doubts", answer.doubts);
  showDownloads(answer, downloads, base);
  say("made", answer.made);
  showModelColumns(answer.columns);
  say("command", answer.command);
  say("python", answer.python);
  byId("result").hidden = false;
  byId("result-title").focus();
}

const GRADES = ["good", "fair", "unknown", "rough", "unsure", "do not use"];

function worstGrade(results) {
  return GRADES[Math.max(...results.map((entry) => GRADES.indexOf(entry.verdict.grade)))];
}

function showTable(answer) {
  const heads = [answer.label_title, "share", "interval", "positives", "rows", "verdict", "warnings"];
  if (answer.truth) {
    heads.splice(3, 0, "truth");
  }
  byId("heads").replaceChildren(...heads.map((head) => element("th", head, { scope: "col" })));
  byId("rows").replaceChildren(
    ...answer.results.map((entry) => {
      const row = document.createElement("tr");
      row.append(element("th", entry.label, { scope: "row" }));
      row.append(...cells(entry, answer.truth).map((text) => element("td", text)));
      return row;
    }),
  );
}

function showModelColumns(columns) {
  byId("model-columns").replaceChildren(
    ...columns.map(({ name, kind, done }) => {
      const row = document.createElement("tr");
      row.append(element("th", name, { scope: "row" }), element("td", kind), element("td", done));
      return row;
    }),
  );
}

function cells(entry, withTruth) {
  const { interval } = entry;
  return [
    percent(entry.prevalence),
    interval ? `${percent(interval.low)} to ${percent(interval.high)}` : "none",
    ...(withTruth ? [percent(entry.truth)] : []),
    whole(entry.count),
    whole(entry.n_unlabeled),
    entry.verdict.grade,
    entry.warnings.map((warning) => warning.code).join(", ") || "none",
  ];
}

function showPicture(answer, base) {
  byId("picture").hidden = !answer.picture;
  byId("picture").replaceChildren();
  if (answer.picture) {
    byId("picture").append(
      element("img", "", { src: `${base}/prevalence.svg`, alt: answer.picture }),
    );
  }
}

function showWarnings({ results, warnings }) {
  const everywhere = results.length;
  byId("warnings-part").hidden = warnings.length === 0;
  say("warnings-title", everywhere === 1 ? "Warnings:" : "Warnings for single groups:");
  fillList(
    "warnings",
    warnings.map(({ sentence, where, worst }) => {
      if (everywhere === 1) {
        return sentence;
      }
      const others = where.filter((label) => label !== worst);
      const more = others.length ? ` (also: ${others.join(", ")})` : "";
      return `${worst}: ${sentence}${more}`;
    }),
  );
}

export function showDownloads(answer, downloads, base) {
  byId("downloads").replaceChildren(...downloads.map((name) => downloadItem(name, base)));
  if (answer.no_model) {
    byId("downloads").append(element("li", `No model file: ${answer.no_model}`));
  }
}

function downloadItem(name, base) {
  const item = document.createElement("li");
  item.append(element("a", name, { href: `${base}/${name}`, download: `poscount-${name}` }));
  item.append(`: ${NAMES[name]}`);
  return item;
}
