// The answer: a number in the user's words, how certain it is, whether to believe it, and its groups.

import { dotAndRange, probability, scaleFor, strip } from "./charts.js";
import { actionFor, comparison, plain } from "./check.js";
import { button, byId, h, listed, plural, range, room, share, show, sure, whole } from "./dom.js";
import { select } from "./data.js";
import { emit, nouns, state } from "./state.js";

const FEWEST_TO_SORT = 4;
const SHOWN = 40; // groups at once
export const ICONS = { "no reason to doubt": "✓", check: "!", "do not use": "✕" };
const STATUSES = Object.keys(ICONS);
const KNOWS = [[true, "nearly always"], [false, "often not"], [null, "not sure"]];

let order = "given";
let all = false;
let limit = "25";

// The answer for all rows together: of labels by hand, if they say more.
export function headline() {
  const { result } = state.answer;
  const [entry] = result.totals.length ? result.totals : result.results;
  const whole = { ...entry, quantiles: result.quantiles, levels: result.levels, value: entry.prevalence };
  const told = state.settled;
  if (told?.answer !== "labels") {
    return whole;
  }
  const { prevalence, low, high, count } = told.labels;
  return { ...whole, prevalence, value: prevalence, count, interval: { ...whole.interval, low, high }, quantiles: null, byHand: told.n_labelled };
}

export const severalTargets = () => state.answer.result.targets.length > 0;

// What is counted in the headline: nothing, if every group has its own answer only.
export const isWhole = () => !severalTargets() && (state.answer.result.totals.length > 0 || state.answer.result.results.length === 1);

// The worst of the verdicts, in one line.
export function verdict() {
  const { result } = state.answer;
  const entries = [...result.totals, ...result.results];
  const worst = entries.reduce((a, b) => (STATUSES.indexOf(b.verdict.status) > STATUSES.indexOf(a.verdict.status) ? b : a));
  const whole = result.totals[0] ?? (result.results.length === 1 ? result.results[0] : worst);
  const chosen = isWhole() ? whole : worst;
  const others = result.results.filter(({ verdict: { status } }) => status !== "no reason to doubt");
  const { status, reason, action } = chosen.verdict;
  const more = result.results.length > 1 && others.length && chosen === whole ? `${plural(others.length, "group")} to check: ${listed(others.map(({ label }) => label))}.` : "";
  return { status, reason, action, more, warning: chosen.warnings.find(({ severity }) => severity === status) };
}

// The answer in one sentence.
export function sentence() {
  const { positives, rows } = nouns();
  const { result } = state.answer;
  if (severalTargets()) {
    const [first] = result.totals.length ? result.totals : result.results;
    const shares = (result.totals.length ? result.totals : result.results).map((entry) => `${whole(entry.count)} ${entry.group.target} (${share(entry.prevalence, entry.interval?.high)})`);
    return `Of ${whole(first.n_unlabeled)} ${rows}: ${listed(shares, 30)}.`;
  }
  const { count, n_unlabeled: n, prevalence, interval } = headline();
  const about = `About ${whole(count)} of ${whole(n)} ${rows} are ${positives}: ${share(prevalence, interval?.high)}`;
  return interval ? `${about}, between ${whole(interval.low * n)} and ${whole(interval.high * n)} (${range(interval)}) with ${+(100 * interval.level).toFixed(1)}\u00a0% confidence.` : `${about}.`;
}

// On what it rests, in the user's words.
export function assumption() {
  const { positives, rows } = nouns();
  const n = whole(state.answer.result.n_positives);
  const known = severalTargets() ? `the ${n} known ${rows} are typical of their kinds` : `the ${n} known ${positives} are typical of those among the ${rows}`;
  const like = state.answer.result.recognisable ? `, and hardly anything else looks like them` : "";
  return `It holds if ${known}${like}.`;
}

export function renderAnswer() {
  byId("result").hidden = !state.answer;
  if (!state.answer) {
    return;
  }
  show("headline", severalTargets() ? targetsHead() : wholeHead());
  renderVerdict();
  show("beside", severalTargets() ? null : [state.options.method === "rcq" && question(), isWhole() && aboveLimit()]);
  renderGroups();
}

function wholeHead() {
  const { positives, rows } = nouns();
  const found = headline();
  const { count, n_unlabeled: n, interval, prevalence, byHand } = found;
  const title = `${sentence()} On a scale from 0 to ${share(scaleFor(interval?.high ?? prevalence))}.`;
  const before = byHand ? `By your ${plural(byHand, "label")}; without them about ${whole(state.settled.model.count)}.` : "";
  const compared = state.compared ? comparison() : "";
  return [
    h("p", { class: "big" }, `about ${whole(count)} ${positives}`, h("small", {}, `of ${whole(n)} ${rows}`)),
    h("p", { class: "range" }, h("b", {}, share(prevalence, interval?.high)),
      interval ? `, between ${whole(interval.low * n)} and ${whole(interval.high * n)} ${rows} (${range(interval)}) with ${+(100 * interval.level).toFixed(1)}\u00a0% confidence` : ": this method does not say how certain it is"),
    strip(found, title, room("headline", 720)),
    before && h("p", { class: "hint", id: "by-hand" }, before),
    compared && h("p", { id: "compared" }, compared),
    truth(),
  ];
}

// What only an example knows.
const truth = () => state.session?.example && state.example.truth && h("p", { class: "hint", id: "truth" }, state.example.truth);

function targetsHead() {
  const { rows } = nouns();
  const entries = state.answer.result.totals.length ? state.answer.result.totals : state.answer.result.results;
  const named = entries.filter(({ group }) => group.target !== "other");
  return [
    h("p", { class: "big several" }, `about ${listed(named.map(({ count, group }) => `${whole(count)} ${group.target}`), 30)}`, h("small", {}, `of ${whole(entries[0].n_unlabeled)} ${rows}`)),
    truth(),
  ];
}

function renderVerdict() {
  const { status, action, more, warning, ...found } = verdict();
  const reason = found.reason && plain(found.reason);
  const beginning = `${status[0].toUpperCase()}${status.slice(1)}`;
  const act = warning && actionFor(warning);
  byId("verdict").dataset.status = status;
  show("verdict", h("span", { "aria-hidden": "true" }, ICONS[status]), h("p", {}, h("b", {}, `${beginning}${reason ? `: ${reason}` : ""}. `),
    reason ? `${plain(action)} ` : `${assumption()} `, more && `${more} `,
    !reason && state.answer.result.what_if.length ? h("a", { href: "#what-if" }, "What if not?") : null), act);
}

// What only the user knows; its effect is seen at once.
function question() {
  const { positives, rows } = nouns();
  const known = state.options.recognisable;
  const both = state.answer.result.what_if.find(({ code }) => code === "both");
  const n = headline().n_unlabeled;
  const pick = (value) => () => {
    state.options = { ...state.options, recognisable: value };
    renderAnswer();
    emit("choices");
  };
  return h("div", { class: "ask" },
    h("p", { id: "recognisable-question" }, `Could somebody who knows these ${rows} nearly always tell ${positives} from the others by these columns?`),
    h("div", { class: "segments", role: "group", "aria-labelledby": "recognisable-question" }, KNOWS.map(([value, text]) => button(text, pick(value), { class: "toggle", "aria-pressed": String(known === value) }))),
    both && known !== true && h("small", {}, `Nearly always: ${whole(both.interval.low * n)} to ${whole(both.interval.high * n)} ${rows} (${range(both.interval)})`));
}

function aboveLimit() {
  const { quantiles, levels } = headline();
  if (!quantiles) {
    return null;
  }
  const said = h("b", {});
  const tell = (text) => {
    const value = Number.parseFloat(text) / 100;
    said.textContent = value >= 0 && value <= 1 ? `${sure(1 - probability(value, quantiles, levels))} sure` : "";
  };
  const input = h("input", { type: "text", inputmode: "decimal", value: limit, "aria-label": "Limit in percent", input: ({ target }) => {
    limit = target.value;
    tell(limit);
  } });
  tell(limit);
  return h("p", { class: "limit" }, h("span", {}, "More than ", input, " % of them?"), " ", h("span", { role: "status" }, said));
}

function renderGroups() {
  const { result } = state.answer;
  const several = result.results.length > 1;
  byId("groups").hidden = !several;
  if (!several) {
    return;
  }
  const few = ({ warnings }) => warnings.some(({ code }) => code === "few-rows");
  const sorted = [...result.results];
  if (order === "share") {
    sorted.sort((a, b) => b.prevalence - a.prevalence);
  } else if (order === "rows") {
    sorted.sort((a, b) => b.n_unlabeled - a.n_unlabeled);
  }
  const shown = all ? sorted : sorted.slice(0, SHOWN);
  const top = scaleFor(Math.max(...[...result.totals, ...sorted].filter((entry) => !few(entry)).map(({ interval, prevalence }) => interval?.high ?? prevalence)));
  const { rows } = nouns();
  const line = (entry, whole) => groupRow(entry, { top, few: few(entry) && !whole, whole });
  show("groups",
    h("div", { class: "row" }, h("h3", {}, severalTargets() && !result.label_title ? `Of all ${rows}` : `By ${result.label_title || "group"}`),
      sorted.length >= FEWEST_TO_SORT && h("label", {}, "sorted by ", select("Sort groups", [["given", "name"], ["share", "share"], ["rows", `number of ${rows}`]], order, (value) => {
        order = value;
        renderGroups();
      }))),
    h("table", { class: "groups" },
      h("thead", {}, h("tr", {}, [result.label_title || (severalTargets() ? "kind" : "group"), `share, from 0 to ${share(top)}`, "count", "range"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, result.totals.map((entry) => line(entry, true)), shown.map((entry) => line(entry, false)))),
    sorted.length > shown.length && button(`Show all ${plural(sorted.length, "group")}`, () => {
      all = true;
      renderGroups();
    }),
    result.truth && h("p", { class: "hint" }, "× marks the truth, which only a simulation knows."));
}

function groupRow(entry, { top, few, whole: isTotal }) {
  const { label, count, n_unlabeled: n, interval, verdict: { status, reason } } = entry;
  const doubt = status === "no reason to doubt" || few ? null : h("span", { class: "doubt", title: plain(reason ?? "") }, ` ${ICONS[status]} ${status}`);
  const name = isTotal ? `All ${nouns().rows}${entry.group.target ? `, ${entry.group.target}` : ""}` : label;
  return h("tr", { class: isTotal ? "total" : few ? "few" : null },
    h("th", { scope: "row" }, name, doubt),
    h("td", {}, dotAndRange(entry, top)),
    h("td", {}, few ? `too few ${nouns().rows} (${whole(n)})` : `${whole(count)} of ${whole(n)}`),
    h("td", {}, few || !interval ? "" : range(interval)));
}
