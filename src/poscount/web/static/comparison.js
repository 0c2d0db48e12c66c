// Another sample to compare with: how much its share differs.

import { shareChart } from "./charts.js";
import { clearErrors, showError } from "./errors.js";
import { followUp } from "./follow_up.js";
import { byId, percent, say, whole } from "./page.js";

export function startComparison(path) {
  byId("compare-samples").addEventListener("click", () => compare(path()));
}

export function offerComparison(files) {
  byId("compare-samples").disabled = !files.some(({ role }) => role === "reference");
}

export function forgetComparisonOfSamples() {
  byId("comparison").hidden = true;
  clearErrors("comparison");
}

async function compare(path) {
  forgetComparisonOfSamples();
  byId("compare-samples").disabled = true;
  try {
    show((await followUp(path, "comparison", {}, (step) => say("comparison-status", step))).result);
  } catch (error) {
    say("comparison-status", "");
    showError(error, "comparison");
  } finally {
    byId("compare-samples").disabled = false;
  }
}

const points = (share) => `${(100 * share).toFixed(1)} points`;

function show({ difference, interval, samples, sentence }) {
  const [here, there] = samples;
  const level = +(100 * interval.level).toPrecision(4);
  const sign = difference < 0 ? -1 : 1;
  const ends = [interval.low, interval.high].map((end) => sign * end).sort((a, b) => a - b);
  const range = `${level} % interval ${(100 * ends[0]).toFixed(1)} to ${(100 * ends[1]).toFixed(1)} points`;
  const certain = interval.low > 0 || interval.high < 0;
  const than = `${points(Math.abs(difference))} ${sign < 0 ? "fewer" : "more"} positives than ${there.name}`;
  say("difference", `${here.name} has ${than} (${range}).`);
  const told = sentence.slice(sentence.indexOf(";") + 2);
  const chance = certain ? "Chance alone does not explain this." : "Chance alone could explain this.";
  say("comparison-sentence", `${chance} ${told.charAt(0).toUpperCase()}${told.slice(1)}`);
  byId("comparison").hidden = false;
  const entries = samples.map(({ name, prevalence, interval: own, n_unlabeled: rows }) => ({
    label: name, share: prevalence, low: own?.low ?? null, high: own?.high ?? null, truth: null, doubtful: false,
    lines: [`${percent(prevalence)} of ${whole(rows)} rows`, ...(own ? [`${percent(own.low)} to ${percent(own.high)}`] : [])],
  }));
  shareChart(byId("comparison-picture"), entries, { title: `Shares of both samples. ${sentence}`, series: false });
}
