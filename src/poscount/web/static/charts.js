// Charts as SVG: shares with intervals, stacked shares, and scores. Hover or use the arrow keys to
// read a value; drag over a part to see only that part. No library: those that draw in the browser
// set inline styles, which the page's content-security policy forbids.

import { element, percent, whole } from "./page.js";
import { showPager } from "./pager.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 280;
const MARGIN = { top: 14, right: 14, bottom: 46, left: 52 };
const CHARACTER = 7; // width of a character of a label, in pixels
const SHORTEST_ZOOM = 12; // pixels; a shorter drag is a click
const MOST_AT_ONCE = 60; // entries; of more there is an overview below the chart
const STRIP = 44; // height of the overview, in pixels

function shape(tag, attributes, parent, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  if (text !== undefined) {
    made.textContent = text;
  }
  parent?.append(made);
  return made;
}

// A chart that is drawn again when its width changes: `draw` gets the svg, its width and the range
// of entries to show, and returns where each of them is. `height` gives that of an entry in the
// overview, 1 being the top; at first, `size` entries are shown.
function responsive(box, entries, title, draw, { height = null, size = entries.length } = {}) {
  const holder = element("div", "", { class: "chart" });
  const tip = element("div", "", { class: "tip", role: "status", hidden: "" });
  const reset = element("button", "Show all", { type: "button", class: "plain small reset", hidden: "" });
  const strip = element("div", "", { class: "strip" });
  const pager = element("div", "");
  const large = height !== null && entries.length > MOST_AT_ONCE;
  holder.append(tip, reset);
  box.replaceChildren(holder, ...(large ? [strip, pager] : []));
  let range = [0, Math.min(size, entries.length) - 1];
  let places = [];
  let current = -1;

  const show = (i) => {
    current = i;
    holder.querySelectorAll(".picked").forEach((mark) => mark.classList.remove("picked"));
    const place = places[i];
    if (!place) {
      tip.hidden = true;
      return;
    }
    place.mark?.classList.add("picked");
    tip.replaceChildren(element("strong", place.entry.label), ...place.lines.map((line) => element("span", line)));
    tip.hidden = false;
    const left = Math.min(Math.max(0, place.x - tip.offsetWidth / 2), holder.offsetWidth - tip.offsetWidth);
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(0, place.y - tip.offsetHeight - 14)}px`;
  };

  const redraw = () => {
    const width = Math.max(260, holder.clientWidth);
    holder.querySelector("svg")?.remove();
    const svg = shape("svg", {
      viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", tabindex: "0", "aria-label": title,
    });
    holder.prepend(svg);
    places = draw(svg, width, entries.slice(range[0], range[1] + 1));
    reset.hidden = range[0] === 0 && range[1] === entries.length - 1;
    show(-1);
    listen(svg);
    if (large) {
      overview(strip, width, entries, height, range, move);
      const part = { first: range[0], size: range[1] - range[0] + 1, total: entries.length, what: "Chart of groups" };
      showPager(pager, part, (to) => move(to));
    }
  };

  // As many entries as now, from another one on.
  const move = (first) => {
    const many = range[1] - range[0];
    const from = Math.max(0, Math.min(first, entries.length - 1 - many));
    range = [from, from + many];
    redraw();
  };

  const listen = (svg) => {
    const nearest = (event) => {
      const x = event.clientX - svg.getBoundingClientRect().left;
      const distances = places.map((place) => Math.abs(place.x - x));
      return distances.indexOf(Math.min(...distances));
    };
    let from = null;
    let brush = null;
    svg.addEventListener("pointermove", (event) => {
      if (from === null) {
        show(nearest(event));
        return;
      }
      const x = event.clientX - svg.getBoundingClientRect().left;
      brush ??= shape("rect", { class: "brush", y: MARGIN.top, height: HEIGHT - MARGIN.top - MARGIN.bottom }, svg);
      brush.setAttribute("x", Math.min(from.x, x));
      brush.setAttribute("width", Math.abs(x - from.x));
    });
    svg.addEventListener("pointerleave", () => show(-1));
    svg.addEventListener("pointerdown", (event) => {
      from = { x: event.clientX - svg.getBoundingClientRect().left, i: nearest(event) };
    });
    svg.addEventListener("pointerup", (event) => {
      const until = nearest(event);
      const x = event.clientX - svg.getBoundingClientRect().left;
      if (from && Math.abs(x - from.x) > SHORTEST_ZOOM && until !== from.i) {
        const [first, last] = [Math.min(from.i, until), Math.max(from.i, until)];
        range = [range[0] + first, range[0] + last];
        redraw();
      }
      from = null;
      brush?.remove();
      brush = null;
    });
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && places.length) {
        event.preventDefault();
        show(Math.min(places.length - 1, Math.max(0, current + step)));
      } else if (event.key === "Escape") {
        range = [0, entries.length - 1];
        redraw();
        holder.querySelector("svg").focus();
      }
    });
  };
  reset.addEventListener("click", () => {
    range = [0, entries.length - 1];
    redraw();
  });
  new ResizeObserver(() => {
    if (holder.querySelector("svg")?.getAttribute("width") !== String(Math.max(260, holder.clientWidth))) {
      redraw();
    }
  }).observe(holder);
}

// All entries as a row of bars, and the part of them that the chart shows; a click shows another.
function overview(strip, width, entries, height, [first, last], move) {
  const svg = shape("svg", { viewBox: `0 0 ${width} ${STRIP}`, width, height: STRIP, "aria-hidden": "true" });
  const room = (width - MARGIN.left - MARGIN.right) / entries.length;
  const from = (i) => MARGIN.left + room * i;
  shape("rect", { class: "window", x: from(first), width: from(last + 1) - from(first), y: 0, height: STRIP }, svg);
  entries.forEach((entry, i) => {
    const tall = Math.max(1, (STRIP - 4) * height(entry));
    shape("rect", { class: "sample-bar", x: from(i), width: Math.max(0.5, room * 0.8), y: STRIP - tall, height: tall }, svg);
  });
  svg.addEventListener("click", (event) => {
    const at = Math.floor((event.clientX - svg.getBoundingClientRect().left - MARGIN.left) / room);
    move(at - Math.floor((last - first) / 2));
  });
  strip.replaceChildren(svg);
}

// A round top of the axis, and its ticks.
function percentAxis(highest) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25].find((each) => highest / each <= 5) ?? 0.25;
  const top = Math.min(1, Math.max(step, Math.ceil(highest / step - 1e-9) * step));
  const ticks = [];
  for (let tick = 0; tick <= top + 1e-9; tick += step) {
    ticks.push(tick);
  }
  return { top, ticks };
}

function frame(svg, width, axis, format = (tick) => `${Math.round(100 * tick)} %`) {
  const bottom = HEIGHT - MARGIN.bottom;
  const y = (value) => bottom - ((bottom - MARGIN.top) * value) / axis.top;
  for (const tick of axis.ticks) {
    shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }, svg);
    shape("text", { class: "tick", x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, svg, format(tick));
  }
  return y;
}

// As many labels as fit below the chart, evenly spaced.
function labelsBelow(svg, width, entries, x) {
  const longest = Math.min(18, Math.max(...entries.map((entry) => entry.label.length)));
  const room = (width - MARGIN.left - MARGIN.right) / entries.length;
  const every = Math.max(1, Math.ceil(((longest + 2) * CHARACTER) / room));
  entries.forEach((entry, i) => {
    if (i % every === 0) {
      const text = entry.label.length > 18 ? `${entry.label.slice(0, 17)}…` : entry.label;
      shape("text", { class: "tick", x: x(i), y: HEIGHT - MARGIN.bottom + 20, "text-anchor": "middle" }, svg, text);
    }
  });
}

const across = (width, n) => (i) => MARGIN.left + ((width - MARGIN.left - MARGIN.right) * (i + 0.5)) / n;

// Shares of positives with their intervals: dots, joined by a line where the groups are a series.
// An entry has label, share, low, high, lines (what to say about it), truth and doubtful; changed and
// smoothed in a series that was compared. A share of null is a gap.
export function shareChart(box, entries, { title, series }) {
  const top = Math.max(0.02, ...entries.map((entry) => entry.share ?? 0));
  // A line can be read with many points, dots with whiskers cannot.
  const overall = { height: (entry) => (entry.share ?? 0) / top, size: series ? entries.length : MOST_AT_ONCE };
  responsive(box, entries, title, (svg, width, shown) => {
    const y = frame(svg, width, percentAxis(Math.max(0.02, ...shown.map((e) => e.high ?? e.share ?? 0))));
    const x = across(width, shown.length);
    const many = shown.length > 60;
    if (series && shown.length > 1) {
      const known = shown.map((entry, i) => ({ ...entry, i })).filter((entry) => entry.low !== null);
      const upper = known.map((entry) => `${x(entry.i)} ${y(entry.high)}`);
      const lower = known.map((entry) => `${x(entry.i)} ${y(entry.low)}`).reverse();
      shape("path", { class: "band", d: `M${[...upper, ...lower].join("L")}Z` }, svg);
      path(svg, "line", shown.map((entry, i) => [x(i), entry.share]), y);
      path(svg, "smoothed", shown.map((entry, i) => [x(i), entry.smoothed ?? null]), y);
    }
    const there = shown.map((entry, i) => [entry, i]).filter(([entry]) => entry.share !== null);
    const places = there.map(([entry, i]) => {
      if (entry.low !== null && !(series && many)) {
        shape("line", { class: "whisker", x1: x(i), x2: x(i), y1: y(entry.low), y2: y(entry.high) }, svg);
      }
      const mark = shape("circle", { class: "dot", cx: x(i), cy: y(entry.share), r: many ? 2 : 4.5 }, svg);
      if (entry.changed) {
        shape("circle", { class: "changed", cx: x(i), cy: y(entry.share), r: 11 }, svg);
      }
      if (entry.doubtful) {
        shape("circle", { class: "doubt", cx: x(i), cy: y(entry.share), r: 8 }, svg);
      }
      if (entry.truth !== null && entry.truth !== undefined) {
        const [a, b] = [x(i), y(entry.truth)];
        shape("path", { class: "truth", d: `M${a - 4} ${b - 4}L${a + 4} ${b + 4}M${a - 4} ${b + 4}L${a + 4} ${b - 4}` }, svg);
      }
      return { x: x(i), y: y(entry.share), entry, mark, lines: entry.lines };
    });
    labelsBelow(svg, width, shown, x);
    return places;
  }, overall);
}

// A line through points that may have gaps.
function path(svg, name, points, y) {
  let d = "";
  let pen = "M";
  for (const [x, value] of points) {
    d += value === null ? "" : `${pen}${x} ${y(value)}`;
    pen = value === null ? "M" : "L";
  }
  if (d) {
    shape("path", { class: name, d }, svg);
  }
}

// Shares of several targets, one on top of the other. An entry has label and parts: name, share.
export function stackedChart(box, entries, { title }) {
  responsive(box, entries, title, (svg, width, shown) => {
    const y = frame(svg, width, percentAxis(1));
    const x = across(width, shown.length);
    const room = (width - MARGIN.left - MARGIN.right) / shown.length;
    const bar = Math.max(1, room - Math.min(6, room / 4));
    const places = shown.map((entry, i) => {
      let below = 0;
      const group = shape("g", {}, svg);
      entry.parts.forEach(({ share }, k) => {
        const part = { x: x(i) - bar / 2, width: bar, y: y(below + share), height: y(below) - y(below + share) };
        shape("rect", { class: `part part-${k % 8}`, ...part }, group);
        below += share;
      });
      const lines = entry.parts.map(({ name, share }) => `${name}: ${percent(share)}`);
      return { x: x(i), y: y(1) + 30, entry, mark: group, lines };
    });
    labelsBelow(svg, width, shown, x);
    return places;
  }, { height: (entry) => 1 - (entry.parts.at(-1)?.share ?? 0), size: MOST_AT_ONCE });
}

// One answer: how the sample is spread along the score, and where its positives should be in it.
export function scoreChart(box, { edges, sample, positives }, { title }) {
  const middle = edges.slice(1).map((edge, i) => (edge + edges[i]) / 2);
  const entries = middle.map((at, i) => ({ label: `score ${at.toPrecision(3)}`, sample: sample[i], positives: positives[i] }));
  responsive(box, entries, title, (svg, width, shown) => {
    const highest = Math.max(...shown.map((entry) => Math.max(entry.sample, entry.positives)), 1);
    const magnitude = 10 ** Math.floor(Math.log10(highest));
    const step = [1, 2, 5, 10].map((each) => each * magnitude).find((each) => highest / each <= 5);
    const axis = { top: Math.ceil(highest / step) * step, ticks: [] };
    for (let tick = 0; tick <= axis.top; tick += step) {
      axis.ticks.push(tick);
    }
    const y = frame(svg, width, axis, (tick) => whole(tick));
    const x = across(width, shown.length);
    const half = (width - MARGIN.left - MARGIN.right) / shown.length / 2;
    const places = shown.map((entry, i) => {
      const bar = { x: x(i) - half, width: 2 * half, y: y(entry.sample), height: y(0) - y(entry.sample) };
      const mark = shape("rect", { class: "sample-bar", ...bar }, svg);
      const lines = [`${whole(entry.sample)} rows`, `${whole(entry.positives)} positives expected`];
      return { x: x(i), y: y(Math.max(entry.sample, entry.positives)), entry, mark, lines };
    });
    const steps = shown.map((entry, i) => `L${x(i) - half} ${y(entry.positives)}L${x(i) + half} ${y(entry.positives)}`);
    shape("path", { class: "line", d: `M${x(0) - half} ${y(0)}${steps.join("")}L${x(shown.length - 1) + half} ${y(0)}` }, svg);
    shape("text", { class: "tick", x: MARGIN.left, y: HEIGHT - MARGIN.bottom + 20 }, svg, "← unlike the positives");
    const right = { class: "tick", x: width - MARGIN.right, y: HEIGHT - MARGIN.bottom + 20, "text-anchor": "end" };
    shape("text", right, svg, "like them →");
    return places;
  });
}

// What the colours and shapes of a chart mean: pairs of a class and a text.
export function legend(items) {
  const list = element("ul", "", { class: "legend" });
  for (const [name, text] of items) {
    const item = document.createElement("li");
    item.append(element("span", "", { class: `key ${name}`, "aria-hidden": "true" }), text);
    list.append(item);
  }
  return list;
}
