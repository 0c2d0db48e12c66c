// Share: a report on one page that prints, the numbers for other programs, and the picture.

import { byId, h, range, share, show, whole } from "./dom.js";
import { assumption, sentence, severalTargets, verdict } from "./answer.js";
import { comparison, places, plain, readings } from "./check.js";
import { nouns, state } from "./state.js";

const NAMES = {
  "result.csv": "The numbers, for a spreadsheet",
  "result.json": "Everything, for programs",
  "model.poscount": "What was learned, for other data",
};
const MOST_ROWS = 20;

export function startShare() {
  for (const name of ["title", "notes"]) {
    byId(`report-${name}`).addEventListener("input", ({ target }) => {
      state.report[name] = target.value;
      renderReport();
    });
  }
  byId("print").addEventListener("click", () => window.print());
  byId("save-report").addEventListener("click", saveReport);
  byId("save-picture").addEventListener("click", savePicture);
}

export function renderReport() {
  byId("share").hidden = !state.answer;
  if (!state.answer) {
    return;
  }
  const { result, downloads, path } = state.answer;
  const { positives, rows } = nouns();
  const { status, reason, action, more } = verdict();
  for (const name of ["title", "notes"]) {
    if (byId(`report-${name}`) !== document.activeElement) {
      byId(`report-${name}`).value = state.report[name];
    }
  }
  const title = state.report.title.trim() || `How many ${positives} among ${whole(total())} ${rows}?`;
  byId("save-picture").hidden = !document.querySelector("#headline svg");
  show("report",
    h("h2", {}, title),
    h("p", { class: "quiet" }, `${result.date}, poscount ${result.version}`),
    state.report.notes.split("\n\n").filter((part) => part.trim()).map((part) => h("p", {}, part)),
    h("p", { class: "lead" }, sentence()),
    document.querySelector("#headline svg")?.cloneNode(true),
    table(),
    h("p", {}, h("b", {}, `${status[0].toUpperCase()}${status.slice(1)}. `), reason ? `${reason[0].toUpperCase()}${reason.slice(1)}. ${plain(action)} ` : "", more && `${more} `, assumption()),
    warnings(),
    result.what_if.length ? readings() : null,
    state.settled && h("p", {}, state.settled.headline),
    state.compared && h("p", {}, comparison()),
    h("h3", {}, "For a paper"), h("p", { id: "methods-paragraph" }, result.methods_paragraph),
    h("h3", {}, "The same by code"), h("pre", { tabindex: 0, role: "region", "aria-label": "Python code" }, h("code", {}, result.python)),
    h("pre", { tabindex: 0, role: "region", "aria-label": "Commands" }, h("code", {}, result.command)),
    h("h3", {}, "Files"), h("ul", { class: "checksums" }, result.files.map(({ name, sha256 }) => h("li", {}, `${name}: SHA-256 ${sha256}`))));
  show("downloads", downloads.map((name) => h("li", {}, h("a", { href: `/api/${path}/${name}`, download: `poscount-${name}` }, NAMES[name]))),
    result.no_model && h("li", {}, result.no_model));
}

const total = () => {
  const { totals, results } = state.answer.result;
  return (totals[0] ?? results[0]).n_unlabeled;
};

function table() {
  const { totals, results, label_title: title } = state.answer.result;
  if (results.length < 2) {
    return null;
  }
  const shown = results.slice(0, MOST_ROWS);
  const line = (name) => ({ prevalence, interval, count, n_unlabeled: n, label }) =>
    h("tr", {}, h("th", { scope: "row" }, name ?? label), h("td", {}, `${whole(count)} of ${whole(n)}`), h("td", {}, share(prevalence, interval?.high)), h("td", {}, interval ? range(interval) : ""));
  return [
    h("table", { class: "plain" }, h("thead", {}, h("tr", {}, [title || "group", "count", "share", "range"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, severalTargets() ? [] : totals.map(line("all")), shown.map(line()))),
    results.length > shown.length && h("p", { class: "quiet" }, `and ${whole(results.length - shown.length)} more groups, which the spreadsheet has.`),
  ];
}

function warnings() {
  const doubts = state.answer.result.warnings.filter(({ severity }) => severity !== "note");
  return doubts.length ? h("ul", {}, doubts.map((doubt) => h("li", {}, places(doubt), plain(doubt.sentence)))) : null;
}

const css = async () => (await fetch("/static/report.css")).text();

// As text, because the page's own policy forbids styles that are not in its files.
async function saveReport() {
  const page = document.implementation.createHTMLDocument(byId("report").querySelector("h2").textContent);
  page.documentElement.lang = "en";
  page.body.className = "report";
  page.body.append(...[...byId("report").children].map((part) => page.importNode(part, true)));
  const text = page.documentElement.outerHTML.replace("</head>", `<meta charset="utf-8"><style>${await css()}</style></head>`);
  offer(new Blob([`<!DOCTYPE html>\n${text}`], { type: "text/html" }), "poscount-report.html");
}

async function savePicture() {
  const text = new XMLSerializer().serializeToString(document.querySelector("#headline svg"));
  offer(new Blob([text.replace(">", `><style>${await css()}</style>`)], { type: "image/svg+xml" }), "poscount-answer.svg");
}

export function offer(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
