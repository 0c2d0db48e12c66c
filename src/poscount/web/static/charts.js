// Pictures as SVG, in one style for the page and the report; their colours are in report.css.

import { listed, range, share, svg, whole } from "./dom.js";

const WIDTH = 720;
const POINTS = 180;

// Where a share is, from 0 to `top`.
const place = (value, top, width = WIDTH) => Math.min(width, (width * value) / top);

// The whole scale, unless everything is at its beginning.
export const scaleFor = (high) => (high >= 0.1 ? 1 : [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2].find((top) => high * 2 <= top) ?? 1);

// The probability that the share is at most `x`, from quantiles of its distribution.
export function probability(x, quantiles, levels) {
  const after = quantiles.findIndex((quantile) => quantile > x);
  if (after <= 0) {
    return after === 0 ? 0 : 1;
  }
  const [low, high] = [quantiles[after - 1], quantiles[after]];
  return levels[after - 1] + ((x - low) / (high - low)) * (levels[after] - levels[after - 1]);
}

// One answer: how likely each share is, the median and the interval.
export function strip({ quantiles, levels, interval, value, truth }, title) {
  const top = scaleFor(interval?.high ?? value);
  const made = svg("svg", { viewBox: `0 0 ${WIDTH} 104`, role: "img", "aria-label": title, class: "strip" }, svg("title", {}, title));
  if (quantiles) {
    made.append(svg("path", { class: "density", d: density(quantiles, levels, top) }));
  }
  made.append(svg("line", { class: "axis", x1: 0, x2: WIDTH, y1: 76, y2: 76 }));
  if (interval) {
    made.append(svg("line", { class: "interval", x1: place(interval.low, top), x2: place(interval.high, top), y1: 76, y2: 76 }));
  }
  made.append(svg("circle", { class: "dot", cx: place(value, top), cy: 76, r: 7 }), cross(truth, top, WIDTH, 76));
  const [left, right] = interval ? [place(interval.low, top), place(interval.high, top)] : [0, WIDTH];
  const label = (x, text, anchor) => svg("text", { class: "tick", x, y: 98, "text-anchor": anchor }, text);
  const crowded = right - left < 90;
  made.append(
    left > 60 ? label(0, "0 %", "start") : "",
    right < WIDTH - 70 ? label(WIDTH, share(top), "end") : "",
    ...(interval ? (crowded ? [label(Math.max(40, (left + right) / 2), range(interval), "middle")]
      : [label(Math.max(left, 16), share(interval.low, interval.high), "middle"), label(Math.min(right, WIDTH - 20), share(interval.high), "middle")]) : []),
  );
  return made;
}

function density(quantiles, levels, top) {
  const steps = Array.from({ length: POINTS }, (_, i) => probability(((i + 1) * top) / POINTS, quantiles, levels));
  const raw = steps.map((at, i) => at - (i ? steps[i - 1] : 0));
  // A little smooth: the quantiles are few.
  const near = [-4, -3, -2, -1, 0, 1, 2, 3, 4];
  const smooth = raw.map((_, i) => near.reduce((sum, k) => sum + (raw[Math.abs(i + k)] ?? 0) * (5 - Math.abs(k)), 0));
  const most = Math.max(...smooth);
  const points = smooth.map((mass, i) => `L${((i + 0.5) * WIDTH) / POINTS} ${76 - (62 * mass) / most}`);
  return `M0 76${points.join("")}L${WIDTH} 76Z`;
}

function cross(truth, top, width, y) {
  if (truth === null || truth === undefined) {
    return "";
  }
  const x = place(truth, top, width);
  return svg("path", { class: "truth", d: `M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}` });
}

// A dot and its range, for a row of a table.
export function dotAndRange({ prevalence, interval, truth }, top, width = 600) {
  const made = svg("svg", { viewBox: `0 0 ${width} 20`, preserveAspectRatio: "none", "aria-hidden": "true", class: "range" }, svg("line", { class: "axis", x1: 0, x2: width, y1: 10, y2: 10 }));
  if (interval) {
    made.append(svg("line", { class: "band", x1: place(interval.low, top, width), x2: place(interval.high, top, width), y1: 10, y2: 10 }));
  }
  made.append(svg("circle", { class: "dot", cx: place(prevalence, top, width), cy: 10, r: 5.5 }), cross(truth, top, width, 10));
  return made;
}

const BINS = 16;
const SMALL = { width: 120, height: 36 };

// How the positives are spread in a column, over the rows to be counted.
export function histogram(positives, sample, name, nouns) {
  const known = [positives, sample].filter((each) => each && (each.quantiles.length || each.values.length));
  const numbers = known.length > 0 && known.every(({ quantiles }) => quantiles.length);
  const words = known.length > 0 && known.every(({ values }) => values.length);
  if (!numbers && !words) {
    return null;
  }
  const parts = numbers ? numberParts(known) : wordParts(known);
  const classes = positives ? ["of-positives", "of-sample"] : ["of-sample"];
  const of = positives ? [nouns.positives, nouns.rows] : [nouns.rows];
  const title = `${name}: how its values are spread among the ${listed(of.slice(0, known.length))}`;
  const most = Math.max(...parts.flat());
  const step = SMALL.width / parts[0].length;
  const bars = parts.map((heights, k) => heights.map((height, i) => {
    const tall = (SMALL.height * height) / most;
    return svg("rect", { class: classes[k], x: i * step, width: Math.max(1, step - 1), y: SMALL.height - tall, height: tall });
  }));
  return svg("svg", { viewBox: `0 0 ${SMALL.width} ${SMALL.height}`, role: "img", "aria-label": title, class: "histogram" }, svg("title", {}, title), bars.reverse());
}

function numberParts(known) {
  const low = Math.min(...known.map(({ quantiles }) => quantiles[1]));
  const high = Math.max(...known.map(({ quantiles }) => quantiles.at(-2)));
  return known.map(({ quantiles }) => {
    const levels = quantiles.map((_, i) => i / (quantiles.length - 1));
    const at = Array.from({ length: BINS + 1 }, (_, i) => probability(low + ((high - low) * i) / BINS, quantiles, levels));
    return at.slice(1).map((level, i) => Math.max(0, level - at[i]));
  });
}

function wordParts(known) {
  const names = [...new Set(known.flatMap(({ values }) => values.map(([value]) => value)))].slice(0, BINS);
  return known.map(({ values }) => {
    const counts = new Map(values);
    const all = values.reduce((sum, [, n]) => sum + n, 0);
    return names.map((name) => (counts.get(name) ?? 0) / all);
  });
}

// How the rows are spread along the score, and where the positives should be in it, with what chance
// does to so many.
export function scorePicture({ sample, positives }, nouns) {
  const [width, height] = [480, 220];
  const bottom = height - 34;
  const most = Math.max(...sample, ...positives.map((n) => n + 2 * Math.sqrt(n)), 1);
  const x = (i) => (width * i) / sample.length;
  const y = (n) => bottom - (bottom * Math.max(0, n)) / most;
  const steps = (numbers) => numbers.map((n, i) => `L${x(i)} ${y(n)}L${x(i + 1)} ${y(n)}`).join("");
  const title = `How much ${nouns.rows} are like the known ${nouns.positives}: bars are all ${nouns.rows}, the line the ${nouns.positives} expected among them`;
  const upper = positives.map((n) => n + 2 * Math.sqrt(n));
  const lower = positives.map((n) => n - 2 * Math.sqrt(n));
  const back = lower.map((n, i) => `L${x(i + 1)} ${y(n)}L${x(i)} ${y(n)}`).reverse().join("");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title, class: "scores" },
    svg("title", {}, title),
    sample.map((n, i) => svg("rect", { class: "of-sample", x: x(i), width: Math.max(1, x(1) - 1), y: y(n), height: bottom - y(n) })),
    svg("path", { class: "noise", d: `M${x(0)} ${y(upper[0])}${steps(upper)}${back}Z` }),
    svg("path", { class: "expected", d: `M0 ${y(positives[0])}${steps(positives)}` }),
    svg("line", { class: "axis", x1: 0, x2: width, y1: bottom, y2: bottom }),
    svg("text", { class: "tick", x: 0, y: height - 10 }, `← unlike the known ${nouns.positives}`),
    svg("text", { class: "tick", x: width, y: height - 10, "text-anchor": "end" }, "like them →"),
    svg("text", { class: "tick", x: 0, y: 12 }, `${whole(most)} ${nouns.rows}`));
}
