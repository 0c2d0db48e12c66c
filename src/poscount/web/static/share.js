// Share: a report on one page that prints, the numbers for other programs, and the picture.

import { answerPicture, asPng, dotAndRange, scaleFor } from "./charts.js";
import { assumption, headline, isWhole, sentence, severalTargets, verdict } from "./answer.js";
import { agreement, comparison, places, plain, readings } from "./check.js";
import { byId, h, offer, range, share, show, whole } from "./dom.js";
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
  byId("save-svg").addEventListener("click", saveSvg);
  byId("save-png").addEventListener("click", savePng);
}

export function renderReport() {
  byId("share").hidden = !state.answer;
  if (!state.answer) {
    return;
  }
  const { result, downloads, path } = state.answer;
  const { status, action, more, ...found } = verdict();
  const reason = found.reason && plain(found.reason);
  for (const name of ["title", "notes"]) {
    if (byId(`report-${name}`) !== document.activeElement) {
      byId(`report-${name}`).value = state.report[name];
    }
  }
  const title = titleOf();
  byId("report-title").placeholder = title;
  show("report",
    h("h2", {}, title),
    h("p", { class: "quiet" }, `${result.date}, poscount ${result.version}`),
    state.report.notes.split("\n\n").filter((part) => part.trim()).map((part) => h("p", {}, part)),
    h("p", { class: "lead" }, sentence()),
    document.querySelector("#headline svg")?.cloneNode(true),
    table(),
    h("p", {}, h("b", {}, `${status[0].toUpperCase()}${status.slice(1)}. `), reason ? `${reason[0].toUpperCase()}${reason.slice(1)}. ${plain(action)} ` : "", more && `${more} `, assumption()),
    warnings(),
    result.what_if.length ? [h("h3", {}, "Under other assumptions"), readings()] : null,
    agreement() && h("p", {}, agreement()),
    state.settled && h("p", {}, state.settled.headline),
    state.compared && h("p", {}, comparison()),
    h("h3", {}, "For a paper"), h("p", { id: "methods-paragraph" }, result.methods_paragraph),
    h("h3", {}, "The same by code"), h("pre", { tabindex: 0, role: "region", "aria-label": "Python code" }, h("code", {}, result.python)),
    h("pre", { tabindex: 0, role: "region", "aria-label": "Commands" }, h("code", {}, result.command)),
    h("h3", {}, "Files"), h("ul", { class: "checksums" }, result.files.map(({ name, sha256 }) => h("li", {}, `${name}: SHA-256 ${sha256}`))));
  show("downloads", downloads.map((name) => h("li", {}, h("a", { href: `/api/${path}/${name}`, download: `poscount-${name}` }, NAMES[name]))),
    result.no_model && h("li", {}, result.no_model));
}

function titleOf() {
  const { totals, results } = state.answer.result;
  const { positives, rows } = nouns();
  return state.report.title.trim() || `How many ${severalTargets() ? "of each kind" : positives} among ${whole((totals[0] ?? results[0]).n_unlabeled)} ${rows}?`;
}

// All rows together, and each group.
function lines() {
  const { totals, results } = state.answer.result;
  const all = severalTargets() ? [] : totals.map((entry) => ({ name: `All ${nouns().rows}`, entry }));
  return results.length < 2 ? [] : [...all, ...results.slice(0, MOST_ROWS).map((entry) => ({ name: entry.label, entry }))];
}

function table() {
  const { results, label_title: title } = state.answer.result;
  const shown = lines();
  if (!shown.length) {
    return null;
  }
  const top = scaleFor(Math.max(...shown.map(({ entry: { interval, prevalence } }) => interval?.high ?? prevalence)));
  const line = ({ name, entry }) => {
    const { prevalence, interval, count, n_unlabeled: n } = entry;
    return h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "drawn" }, dotAndRange(entry, top)), h("td", {}, `${whole(count)} of ${whole(n)}`), h("td", {}, share(prevalence, interval?.high)), h("td", {}, interval ? range(interval) : ""));
  };
  const more = results.length - MOST_ROWS;
  return [
    h("table", { class: "plain" }, h("thead", {}, h("tr", {}, [title || (severalTargets() ? "kind" : "group"), `from 0 to ${share(top)}`, "count", "share", "range"].map((text, i) => h("th", { scope: "col", class: i === 1 ? "drawn" : null }, text)))),
      h("tbody", {}, shown.map(line))),
    more > 0 && h("p", { class: "quiet" }, `and ${whole(more)} more groups, which the spreadsheet has.`),
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

// The picture stands on the page while it is saved, so that it has its colours.
async function withPicture(save) {
  const made = answerPicture(isWhole() ? headline() : null, titleOf(), lines());
  const box = h("div", { class: "unseen", "aria-hidden": "true" }, made);
  document.body.append(box);
  try {
    await save(made);
  } finally {
    box.remove();
  }
}

const saveSvg = () => withPicture(async (made) => {
  const text = new XMLSerializer().serializeToString(made);
  offer(new Blob([text.replace(">", `><style>${await css()}</style>`)], { type: "image/svg+xml" }), "poscount-answer.svg");
});

const savePng = () => withPicture(async (made) => offer(await asPng(made), "poscount-answer.png"));
