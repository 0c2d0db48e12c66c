// Check by hand: rows to label, and what the labels say.

import { clearErrors, showError } from "./errors.js";
import { followUp } from "./follow_up.js";
import { byId, element, percent, say, whole } from "./page.js";

const OURS = /^(label|audit_.*)$/; // columns that the audit has added
const AGREEMENTS = {
  agree: "Your labels and the model agree.",
  unclear: "Your labels neither confirm the model nor contradict it.",
  contradict: "Your labels contradict the model.",
};

let n = 0; // rows that were asked for
let labels = {}; // whether a row is positive, by its id

export function startAudit(path) {
  byId("choose-rows").addEventListener("click", () => choose(path()));
  byId("settle").addEventListener("click", () => settle(path()));
}

export function forgetAudit() {
  labels = {};
  byId("to-label").hidden = true;
  byId("settlement").hidden = true;
  clearErrors("audit", "settlement");
}

async function choose(path) {
  forgetAudit();
  byId("choose-rows").disabled = true;
  n = Number(byId("audit-n").value);
  try {
    show((await followUp(path, "audit", { n }, (step) => say("audit-status", step))).result);
  } catch (error) {
    say("audit-status", "");
    showError(error, "audit");
  } finally {
    byId("choose-rows").disabled = false;
  }
}

function show({ columns, rows }) {
  const shown = columns.map((name, i) => [name, i]).filter(([name]) => !OURS.test(name));
  const id = columns.indexOf("audit_id");
  const at = columns.indexOf("audit_row");
  const heads = ["positive?", "row", ...shown.map(([name]) => name)];
  byId("label-heads").replaceChildren(...heads.map((head) => element("th", head, { scope: "col" })));
  byId("label-rows").replaceChildren(
    ...rows.map((row, i) => {
      const line = document.createElement("tr");
      const cells = shown.map(([, j]) => element("td", row[j] === null ? "missing" : row[j], row[j] === null ? { class: "missing" } : {}));
      line.append(choiceCell(row[id], i), element("th", String(row[at]), { scope: "row" }), ...cells);
      return line;
    }),
  );
  byId("to-label").hidden = false;
  tellLabelled(rows.length);
}

function choiceCell(id, i) {
  const cell = document.createElement("td");
  const group = element("div", "", { class: "label", role: "radiogroup", "aria-label": `Is row ${i + 1} positive?` });
  for (const [text, value] of [["yes", true], ["no", false]]) {
    const label = element("label", "", { class: "tick" });
    const input = element("input", "", { type: "radio", name: `label-${i}`, value: text });
    input.addEventListener("change", () => {
      labels[id] = value;
      tellLabelled(byId("label-rows").children.length);
    });
    label.append(input, text);
    group.append(label);
  }
  cell.append(group);
  return cell;
}

function tellLabelled(all) {
  const given = Object.keys(labels).length;
  say("labelled", `${given} of ${all} rows are labelled.`);
  byId("settle").disabled = given === 0;
}

async function settle(path) {
  clearErrors("settlement");
  byId("settle").disabled = true;
  try {
    const told = await followUp(path, "settlement", { n, labels }, (step) => step && say("labelled", step));
    showSettlement(told.result);
  } catch (error) {
    showError(error, "settlement");
  } finally {
    tellLabelled(byId("label-rows").children.length);
  }
}

function showSettlement({ headline, model, agreement, findings, labels_needed: needed }) {
  say("settled", headline);
  say("agreement", `${AGREEMENTS[agreement]} The model alone says ${percent(model.prevalence)}.`);
  byId("settlement-findings").replaceChildren(...findings.map(({ sentence }) => element("li", sentence)));
  const widths = Object.entries(needed).map(([width, labelsOf]) => `${Math.round(100 * width)} points: ${whole(labelsOf)}`);
  say("labels-needed", `Labels that an interval would need in all, for a width of ${widths.join(", of ")}.`);
  byId("settlement").hidden = false;
}
