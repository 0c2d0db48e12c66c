// The report: written again with the title and the notes that somebody gives it.

import { ask } from "./api.js";
import { clearErrors, showError } from "./errors.js";
import { byId, element, say } from "./page.js";

export function startReport(path) {
  byId("write-report").addEventListener("click", () => write(path()));
  byId("copy-paragraph").addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId("methods-paragraph").textContent);
    say("copied", "Copied.");
  });
}

async function write(path) {
  clearErrors("report");
  try {
    const title = byId("report-title").value;
    await ask("POST", `${path}/report`, { title, notes: byId("report-notes").value });
    const link = element("a", "Download the report", { href: `/api/${path}/report.html`, download: "poscount-report.html" });
    byId("report-status").replaceChildren("Written. ", link);
  } catch (error) {
    showError(error, "report");
  }
}
