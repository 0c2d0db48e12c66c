// Pictures as SVG, in one style for the page and the report; their colours are in report.css.

import { listed, range, share, svg, whole } from "./dom.js";

const POINTS = 180;

// Where a share is, from 0 to `top`.
const place = (value, top, width) => Math.min(width, (width * value) / top);

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

// One answer: how likely each share is, the median and the interval. As wide as its place, so that
// its letters are as large as all others.
export function strip({ quantiles, levels, interval, value, truth }, title, width = 720) {
  const top = scaleFor(interval?.high ?? value);
  const at = (share) => place(share, top, width);
  const made = svg("svg", { viewBox: `0 0 ${width} 104`, width, height: 104, role: "img", "aria-label": title, class: "strip" }, svg("title", {}, title));
  if (quantiles) {
    made.append(svg("path", { class: "density", d: density(quantiles, levels, top, width) }));
  }
  made.append(svg("line", { class: "axis", x1: 0, x2: width, y1: 76, y2: 76 }));
  if (interval) {
    made.append(svg("line", { class: "interval", x1: at(interval.low), x2: at(interval.high), y1: 76, y2: 76 }));
  }
  made.append(dot(at(value), 76, 14), cross(truth, top, width, 76));
  const [left, right] = interval ? [at(interval.low), at(interval.high)] : [width, 0];
  const label = (x, text, anchor) => svg("text", { class: "tick", x, y: 98, "text-anchor": anchor }, text);
  const crowded = right - left < 90;
  made.append(
    left > 60 ? label(0, "0 %", "start") : "",
    right < width - 80 ? label(width, share(top), "end") : "",
    ...(interval ? (crowded ? [label(Math.min(width - 45, Math.max(45, (left + right) / 2)), range(interval), "middle")]
      : [label(Math.max(left, 16), share(interval.low, interval.high), "middle"), label(Math.min(right, width - 20), share(interval.high), "middle")]) : []),
  );
  return made;
}

// Round, however wide its picture is drawn.
const dot = (x, y, size) => svg("g", {}, [["halo", size + 3], ["dot", size]].map(([name, width]) => svg("path", { class: name, d: `M${x} ${y}h0.01`, "stroke-width": width })));

function density(quantiles, levels, top, width) {
  const steps = Array.from({ length: POINTS }, (_, i) => probability(((i + 1) * top) / POINTS, quantiles, levels));
  const raw = steps.map((at, i) => at - (i ? steps[i - 1] : 0));
  // A little smooth: the quantiles are few.
  const near = [-4, -3, -2, -1, 0, 1, 2, 3, 4];
  const smooth = raw.map((_, i) => near.reduce((sum, k) => sum + (raw[Math.abs(i + k)] ?? 0) * (5 - Math.abs(k)), 0));
  const most = Math.max(...smooth);
  const points = smooth.map((mass, i) => `L${((i + 0.5) * width) / POINTS} ${76 - (62 * mass) / most}`);
  return `M0 76${points.join("")}L${width} 76Z`;
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
  made.append(dot(place(prevalence, top, width), 10, 11), cross(truth, top, width, 10));
  return made;
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const BINS = 16;
const SMALL = { width: 120, height: 36 };

// How the positives are spread in a column, over the rows to be counted: sketches of parts of n rows.
export function histogram(ofPositives, ofSample, name, nouns) {
  const [positives, sample] = [ofPositives, ofSample].map((parts) => parts.filter(({ quantiles, values }) => quantiles.length || values.some(([value]) => value !== null)));
  const known = [positives, sample].filter((parts) => parts.length);
  const numbers = known.length > 0 && known.flat().every(({ quantiles }) => quantiles.length);
  const words = known.length > 0 && known.flat().every(({ values }) => values.length);
  if (!numbers && !words) {
    return null;
  }
  const parts = numbers ? numberParts(known) : wordParts(known);
  const classes = positives.length ? ["of-positives", "of-sample"] : ["of-sample"];
  const of = positives.length ? [nouns.positives, nouns.rows] : [nouns.rows];
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
  const low = Math.min(...known.flat().map(({ quantiles }) => quantiles[1]));
  const high = Math.max(...known.flat().map(({ quantiles }) => quantiles.at(-2)));
  return known.map((parts) => {
    const below = (x) => sum(parts.map(({ n, quantiles }) => n * probability(x, quantiles, quantiles.map((_, i) => i / (quantiles.length - 1)))));
    const at = Array.from({ length: BINS + 1 }, (_, i) => below(low + ((high - low) * i) / BINS) / sum(parts.map(({ n }) => n)));
    return at.slice(1).map((level, i) => Math.max(0, level - at[i]));
  });
}

function wordParts(known) {
  const names = [...new Set(known.flat().flatMap(({ values }) => values.map(([value]) => value)))].slice(0, BINS);
  return known.map((parts) => {
    const counts = parts.flatMap(({ values }) => values);
    const all = sum(counts.map(([, n]) => n));
    return names.map((name) => sum(counts.filter(([value]) => value === name).map(([, n]) => n)) / all);
  });
}

const BARS = 24;

// How the rows are spread along the score, and where the positives should be in it, with what chance
// does to so many, in both tables. Bars that are far taller than that are cut off.
export function scorePicture({ sample, positives }, nKnown, nouns, width) {
  const step = Math.ceil(sample.length / Math.max(10, Math.min(BARS, Math.sqrt(nKnown))));
  const together = (numbers) => Array.from({ length: Math.ceil(numbers.length / step) }, (_, i) => sum(numbers.slice(i * step, (i + 1) * step)));
  const [bars, expected] = [together(sample), together(positives)];
  const chance = 1 + sum(expected) / nKnown;
  const band = (sign) => expected.map((n) => Math.max(0, n + sign * 2 * Math.sqrt(n * chance)));
  const [upper, lower] = [band(1), band(-1)];
  const height = 220;
  const bottom = height - 34;
  const tallest = Math.max(...bars, 1);
  const most = Math.min(Math.max(tallest, ...upper), 4 * Math.max(...upper) || tallest);
  const x = (i) => (width * i) / bars.length;
  const y = (n) => bottom - ((bottom - 18) * Math.min(n, most)) / most;
  const steps = (numbers) => numbers.map((n, i) => `L${x(i)} ${y(n)}L${x(i + 1)} ${y(n)}`).join("");
  const back = lower.map((n, i) => `L${x(i + 1)} ${y(n)}L${x(i)} ${y(n)}`).reverse().join("");
  const title = `How much ${nouns.rows} are like the known ${nouns.positives}: bars are all ${nouns.rows}, the line the ${nouns.positives} expected among them`;
  const top = tallest > most ? `bars are cut off at ${whole(most)} ${nouns.rows}, up to ${whole(tallest)}` : `${whole(most)} ${nouns.rows}`;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title, class: "scores" },
    svg("title", {}, title),
    bars.map((n, i) => svg("rect", { class: "of-sample", x: x(i), width: Math.max(1, x(1) - 1), y: y(n), height: bottom - y(n) })),
    svg("path", { class: "noise", d: `M${x(0)} ${y(upper[0])}${steps(upper)}${back}Z` }),
    svg("path", { class: "expected", d: `M0 ${y(expected[0])}${steps(expected)}` }),
    svg("line", { class: "axis", x1: 0, x2: width, y1: bottom, y2: bottom }),
    svg("text", { class: "tick", x: 0, y: height - 10 }, "← unlike them"),
    svg("text", { class: "tick", x: width, y: height - 10, "text-anchor": "end" }, "like them →"),
    svg("text", { class: "tick", x: 0, y: 12 }, top));
}

const ROW = 26;

// The answer as one picture, to be saved: its sentence, the strip, and the groups.
export function answerPicture(found, title, lines) {
  const [width, edge, first] = [760, 20, found ? 166 : 52];
  const top = scaleFor(Math.max(...lines.map(({ entry }) => entry.interval?.high ?? entry.prevalence), 0));
  const text = (x, y, words, anchor = "start") => svg("text", { class: "words", x, y, "text-anchor": anchor }, words);
  const rows = lines.map(({ name, entry }, i) => svg("g", { transform: `translate(${edge} ${first + i * ROW})` },
    text(0, 14, name.length > 24 ? `${name.slice(0, 23)}…` : name), svg("g", { transform: "translate(180 0)" }, [...dotAndRange(entry, top, 330).childNodes]),
    text(720, 14, `${whole(entry.count)} of ${whole(entry.n_unlabeled)}${entry.interval ? `, ${range(entry.interval)}` : ""}`, "end")));
  const height = first + lines.length * ROW + (lines.length ? 34 : 0);
  return svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, class: "saved" },
    svg("title", {}, title), svg("rect", { class: "paper", width, height }),
    text(edge, 32, title),
    found ? svg("g", { transform: `translate(${edge} 44)` }, [...strip(found, title).childNodes]) : "",
    rows, lines.length ? [text(edge + 180, height - 14, "0 %"), text(edge + 510, height - 14, share(top), "end")] : "");
}

// A picture as PNG. The page's policy allows no pictures but those in its files, so its lines, areas
// and words are drawn one by one.
export function asPng(picture, scale = 2) {
  const canvas = document.createElement("canvas");
  const { width, height } = picture.viewBox.baseVal;
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const pen = canvas.getContext("2d");
  const number = (made, name) => Number(made.getAttribute(name));
  const out = picture.getScreenCTM().inverse();
  for (const made of picture.querySelectorAll("rect, path, line, text")) {
    const style = getComputedStyle(made);
    const { a, b, c, d, e, f } = out.multiply(made.getScreenCTM());
    pen.setTransform(a * scale, b * scale, c * scale, d * scale, e * scale, f * scale);
    Object.assign(pen, { fillStyle: style.fill, strokeStyle: style.stroke, lineWidth: parseFloat(style.strokeWidth), lineCap: style.strokeLinecap, globalAlpha: Number(style.fillOpacity) });
    if (made.tagName === "text") {
      Object.assign(pen, { font: style.font, textAlign: { start: "left", middle: "center", end: "right" }[style.textAnchor] });
      pen.fillText(made.textContent, number(made, "x"), number(made, "y"));
      continue;
    }
    const shape = new Path2D(made.getAttribute("d") ?? undefined);
    if (made.tagName === "rect") {
      shape.rect(number(made, "x"), number(made, "y"), number(made, "width"), number(made, "height"));
    } else if (made.tagName === "line") {
      shape.moveTo(number(made, "x1"), number(made, "y1"));
      shape.lineTo(number(made, "x2"), number(made, "y2"));
    }
    if (style.fill !== "none") {
      pen.fill(shape);
    }
    if (style.stroke !== "none") {
      pen.stroke(shape);
    }
  }
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
