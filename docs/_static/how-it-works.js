/* The picture that moves, of how-it-works.md. All answers are RCQ's own: how-it-works-data.js. */
"use strict";
(() => {
  const { shares, distances, rows, answers } = window.howItWorks;
  const place = document.getElementById("moving-picture");
  const share = place.querySelector("[name=share]");
  const overlap = place.querySelector("[name=overlap]");
  const expert = place.querySelector("[name=expert]");
  const WIDTH = 600;
  const HEIGHT = 170;
  const TOP = 2; // ratios above this are cut off

  function shape(name, attributes, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }

  const percent = (x) => `${Math.round(100 * x)} %`;

  function drawRegions(ratios, smallest, truth) {
    const drawing = place.querySelector(".regions");
    const y = (ratio) => HEIGHT - (HEIGHT / TOP) * Math.min(ratio, TOP);
    const step = WIDTH / ratios.length;
    drawing.replaceChildren();
    ratios.forEach((ratio, k) => {
      drawing.append(
        shape("rect", {
          x: k * step + 3,
          width: step - 6,
          y: y(ratio),
          height: HEIGHT - y(ratio),
          class: ratio === smallest ? "chosen" : "region",
        }),
        shape("text", { x: (k + 0.5) * step, y: HEIGHT + 18, class: "middle" }, percent(ratio)),
      );
    });
    drawing.append(
      shape("line", { x1: 0, x2: WIDTH, y1: y(truth), y2: y(truth), class: "truth" }),
      shape("text", { x: WIDTH, y: y(truth) - 5, class: "end" }, `truth ${percent(truth)}`),
    );
  }

  function drawAnswer(answer, likely, truth) {
    const drawing = place.querySelector(".answer");
    const [estimate, low, high] = answer.map((x) => (WIDTH * x) / 1000);
    const tallest = Math.max(...likely);
    const step = WIDTH / likely.length;
    const middle = HEIGHT - 20;
    drawing.replaceChildren(
      ...likely.map((each, k) => {
        const height = ((middle - 20) * each) / tallest;
        return shape("rect", {
          x: k * step,
          width: step,
          y: middle - 10 - height,
          height,
          class: "likely",
        });
      }),
      shape("line", { x1: 0, x2: WIDTH, y1: middle, y2: middle, class: "axis" }),
      shape("line", { x1: low, x2: high, y1: middle, y2: middle, class: "interval" }),
      shape("circle", { cx: estimate, cy: middle, r: 7, class: "estimate" }),
      shape("line", { x1: WIDTH * truth, x2: WIDTH * truth, y1: 0, y2: HEIGHT, class: "truth" }),
      shape("text", { x: 0, y: HEIGHT + 18 }, "0 %"),
      shape("text", { x: WIDTH, y: HEIGHT + 18, class: "end" }, "100 %"),
    );
  }

  function show() {
    const truth = shares[share.value] / 100;
    const index = (share.value * distances.length + +overlap.value) * 2 + +expert.checked;
    const { regions, answer, likely } = answers[index];
    const ratios = regions.map((count) => (10 * count) / rows);
    const smallest = Math.min(...ratios);
    drawRegions(ratios, smallest, truth);
    drawAnswer(answer, likely, truth);
    const [estimate, low, high] = answer.map((x) => percent(x / 1000));
    place.querySelector(".share").textContent = percent(truth);
    place.querySelector(".overlap").textContent =
      `${distances[overlap.value]} standard deviations apart`;
    place.querySelector("[role=status]").textContent =
      `The emptiest region holds 10 % of the labelled positives and ` +
      `${(10 * smallest).toFixed(1)} % of the sample, so about ${percent(Math.min(smallest, 1))} ` +
      `are positive at most, give or take chance. RCQ allows for chance, and says ${estimate}, ${low} to ${high}. The truth is ${percent(truth)}.`;
  }

  place.addEventListener("input", show);
  place.hidden = false;
  show();
})();
