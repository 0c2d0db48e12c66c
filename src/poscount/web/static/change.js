// Whether the share has changed: a series of groups, compared with each other.

import { legend, shareChart } from "./charts.js";
import { clearErrors, showError } from "./errors.js";
import { followUp } from "./follow_up.js";
import { byId, element, fillList, fillSelect, percent, say, whole } from "./page.js";

export function startChange(path) {
  byId("find-trend").addEventListener("click", () => find(path()));
}

// What the rows can be grouped by in order of time.
export function offerChange(columns) {
  const periods = columns.flatMap(({ name, groupings }) =>
    groupings.filter(({ period }) => period).map(({ by, period }) => [by, `${period} of ${name}`]),
  );
  const dates = columns.flatMap(({ name, kind, groupings }) =>
    groupings.filter(({ period }) => !period && kind === "date").map(({ by }) => [by, `value of ${name}`]),
  );
  fillSelect("trend-by", [...periods, ...dates]);
  byId("no-change").hidden = periods.length + dates.length > 0;
  byId("change-choice").hidden = !byId("no-change").hidden;
}

export function forgetChange() {
  byId("trend").hidden = true;
  clearErrors("trend");
}

async function find(path) {
  forgetChange();
  byId("find-trend").disabled = true;
  const request = {
    by: byId("trend-by").value,
    baseline: Number(byId("trend-baseline").value),
    smooth: byId("trend-smooth").checked,
  };
  try {
    show((await followUp(path, "trend", request, (step) => say("trend-status", step))).result);
  } catch (error) {
    say("trend-status", "");
    showError(error, "trend");
  } finally {
    byId("find-trend").disabled = false;
  }
}

function show({ summary, notes, points, level, baseline }) {
  say("trend-summary", summary);
  fillList("trend-notes", notes);
  byId("trend").hidden = false;
  const entries = points.map(entryOf);
  const box = element("div", "");
  byId("trend-picture").replaceChildren(
    box,
    legend([
      ["dot", "estimate"],
      ["band", `${+(100 * level).toPrecision(4)} % interval`],
      ["changed", baseline.length ? "changed from the one before, or from the baseline" : "changed from the one before"],
      ...(points.some((point) => point.smoothed !== undefined) ? [["smoothed", "smoothed"]] : []),
    ]),
  );
  shareChart(box, entries, { title: `Share of positives over time. ${summary}`, series: true });
}

function entryOf(point) {
  const { group, n, prevalence, low, high, change, smoothed } = point;
  const lines = prevalence === null ? ["no rows"] : [`${percent(prevalence)} of ${whole(n)} rows`, `${percent(low)} to ${percent(high)}`];
  if (change !== null && change !== undefined) {
    const sign = change < 0 ? "−" : "+";
    lines.push(`${sign}${percent(Math.abs(change))} from ${point.compared_with}`);
  }
  return {
    label: group, share: prevalence, low, high, truth: null, doubtful: false, lines,
    changed: Boolean(point.change_marked || point.from_baseline_marked), smoothed: smoothed ?? null,
  };
}
