// The first rows of each file, as they were read.

import { byId, element, whole } from "./page.js";

// The positives and the first of the other files are open; the rest can be opened.
const OPEN = 2;

export function showPreviews(files) {
  const ordered = ["positives", "unlabeled", "reference"].flatMap((role) => files.filter((file) => file.role === role));
  byId("previews").replaceChildren(...ordered.map(preview));
}

function preview({ name, role, rows, columns, preview: cells }, i) {
  const part = document.createElement("details");
  part.open = i < OPEN;
  const shown = cells[0].length;
  const more = shown < columns.length ? `, the first ${shown} of ${whole(columns.length)} columns` : "";
  const first = cells.length < rows ? `the first ${cells.length} of ${whole(rows)} rows` : `all ${whole(rows)} rows`;
  part.append(element("summary", `${name} (${role}): ${first}${more}`));
  const box = element("div", "", { class: "wide", tabindex: "0", role: "region", "aria-label": `First rows of ${name}` });
  const table = element("table", "", { class: "cells" });
  table.append(section("thead", [columns.slice(0, shown)], headCell));
  table.append(section("tbody", cells, bodyCell));
  box.append(table);
  part.append(box);
  return part;
}

function section(tag, rows, cell) {
  const made = document.createElement(tag);
  for (const row of rows) {
    const line = document.createElement("tr");
    line.append(...row.map(cell));
    made.append(line);
  }
  return made;
}

const headCell = (text) => element("th", text || "(no name)", { scope: "col" });

const bodyCell = (text) => (text === null ? element("td", "missing", { class: "missing" }) : element("td", text));
