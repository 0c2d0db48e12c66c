// Several methods on the same rows, side by side: one estimate after the other, with the same
// settings but for the method.

import { ask, pause } from "./api.js";
import { clearErrors, showError } from "./errors.js";
import { OPTIONS } from "./options.js";
import { byId, element, percent, say } from "./page.js";
import { rowsShown, showPager } from "./pager.js";

const COMPARED = ["rcq", "pat", "trcq", "dedpul", "bbe"];

let running = false;

export function startCompare(request, methods) {
  byId("compare").addEventListener("click", () => compare(request(), methods()));
}

export function forgetComparison() {
  byId("compared").hidden = true;
  byId("compared-pager").replaceChildren();
  say("compare-status", "");
  clearErrors("compare");
}

async function compare({ base, wanted }, methods) {
  if (running) {
    return;
  }
  running = true;
  byId("compare").disabled = true;
  forgetComparison();
  const answers = [];
  try {
    const chosen = methods.filter(({ name }) => COMPARED.includes(name));
    for (const { name, title, options } of chosen) {
      say("compare-status", `${title} …`);
      const request = { ...wanted, method: name };
      for (const option of Object.keys(OPTIONS)) {
        if (!options.includes(option)) {
          delete request[option];
        }
      }
      const told = await outcome(base, request);
      answers.push({ title, told });
      show(answers);
    }
    say("compare-status", "");
  } catch (error) {
    say("compare-status", "");
    showError(error, "compare");
  } finally {
    running = false;
    byId("compare").disabled = false;
  }
}

// A method that cannot answer says why in its column, and the others go on.
async function outcome(base, request) {
  const { id } = await ask("POST", base, request);
  for (;;) {
    const told = await ask("GET", `${base}/${id}`);
    if (told.state === "done" || told.state === "failed") {
      await ask("DELETE", `${base}/${id}`);
      return told;
    }
    await pause();
  }
}

function show(answers, from = 0) {
  const size = rowsShown();
  const first = answers.find(({ told }) => told.result)?.told.result;
  if (!first) {
    return;
  }
  byId("compared").hidden = false;
  const heads = [first.label_title, ...answers.map(({ title }) => title)];
  byId("compared-heads").replaceChildren(...heads.map((head, i) => element("th", head, { scope: "col", ...(i ? { class: "number" } : {}) })));
  byId("compared-rows").replaceChildren(
    ...first.results.slice(from, from + size).map((entry, k) => {
      const i = from + k;
      const row = document.createElement("tr");
      row.append(element("th", entry.label, { scope: "row" }));
      for (const { title, told } of answers) {
        const cell = element("td", "", { class: "number", "data-label": title });
        cell.append(...(told.result ? numbers(told.result.results[i]) : [told.error.message]));
        row.append(cell);
      }
      return row;
    }),
  );
  const part = { first: from, size, total: first.results.length, what: "Groups" };
  showPager(byId("compared-pager"), part, (to) => show(answers, to));
}

function numbers({ prevalence, interval }) {
  const range = interval ? `${percent(interval.low)} to ${percent(interval.high)}` : "no interval";
  return [element("strong", percent(prevalence)), element("span", range, { class: "range" })];
}
