// The page: each step appears when it can be taken, and the answer when it is ready.

import { ask, pause } from "./api.js";
import { diagnose, forgetDiagnosis } from "./diagnosis.js";
import { currentSession, startFiles, useExample, watchFiles } from "./files.js";
import { byId, clearErrors, element, fillSelect, say, showError, whole } from "./page.js";
import { showDownloads, showResult } from "./result.js";

const FIELDS = ["features", "by", "method", "scorer", "bootstrap", "confidence", "random_state"];

let methods = [];
let cancelled = false; // whether to stop the estimate that is running

async function start() {
  watchFiles();
  byId("example").addEventListener("click", runExample);
  byId("estimate").addEventListener("click", estimate);
  byId("cancel").addEventListener("click", cancel);
  byId("method").addEventListener("change", showMethod);
  try {
    const info = await ask("GET", "info");
    startFiles(info.limits, showSession);
    say("version", info.version);
    const { upload_bytes: bytes, rows, columns } = info.limits;
    say("limits", `Up to ${whole(bytes / 1e6)} MB, ${whole(rows)} rows and ${whole(columns)} columns per file.`);
    const offered = await ask("GET", "methods");
    methods = offered.methods;
    fillSelect("method", methods.map(({ name, title }, i) => [name, i ? title : `${title} (recommended)`]));
    fillSelect("scorer", [["", "the method's default"], ...offered.scorers.map((name) => [name, name])]);
    showMethod();
    byId("example").disabled = false;
    byId("estimate").disabled = false;
    document.body.dataset.ready = "true";
  } catch (error) {
    showError(error, "positives");
  }
}

async function runExample() {
  byId("example").disabled = true;
  try {
    await useExample();
    byId("by").value = "night";
    await estimate();
  } catch (error) {
    say("file-status", "");
    showError(error, "positives");
  } finally {
    byId("example").disabled = false;
  }
}

function showSession(session) {
  const roles = new Set((session?.files ?? []).map((file) => file.role));
  const ready = roles.size === 2;
  byId("columns-section").hidden = !ready;
  byId("settings-section").hidden = !ready;
  hideResult();
  clearErrors(...FIELDS, "general");
  if (!ready) {
    return;
  }
  byId("columns").replaceChildren(...session.columns.map(columnItem));
  // A column that could be used, if it were read or written in another way, is not left out silently.
  say("features-error", session.columns.find(({ problem }) => problem)?.problem ?? "");
  const alone = session.left_alone.join(", ");
  say("left-alone", alone ? `Only in the unlabeled files, and not learned from: ${alone}.` : "");
  const all = session.files.filter((file) => file.role === "unlabeled");
  fillSelect("by", [
    ["", "nothing: one answer for all rows"],
    ...session.groupings.map((name) => [name, `value of ${name}`]),
  ]);
  byId("by-file-choice").hidden = all.length < 2;
  byId("by_file").checked = all.length > 1;
}

function hideResult() {
  byId("result").hidden = true;
  forgetDiagnosis();
}

function columnItem({ name, usable, use, why_not: reason }) {
  const item = document.createElement("li");
  const label = element("label", "", { class: "tick" });
  const box = element("input", "", { type: "checkbox", value: name });
  box.checked = use;
  box.disabled = !usable;
  label.append(box, element("span", reason ? `${name} (${reason})` : name));
  item.append(label);
  return item;
}

function showMethod() {
  const method = methods.find(({ name }) => name === byId("method").value);
  const kind = method.reusable
    ? "It is fitted once, and the model file can be used for other data."
    : "It is fitted anew for each set of unlabeled rows.";
  say("method-hint", `${method.summary} ${kind}`);
  for (const option of ["scorer", "bootstrap", "confidence"]) {
    byId(option).parentElement.hidden = !method.options.includes(option);
  }
}

function wanted() {
  const method = methods.find(({ name }) => name === byId("method").value);
  const request = {
    method: method.name,
    features: [...document.querySelectorAll("#columns input:checked")].map((box) => box.value),
    by: byId("by").value ? [byId("by").value] : [],
    by_file: byId("by_file").checked && !byId("by-file-choice").hidden,
    random_state: Number(byId("random_state").value),
  };
  for (const option of method.options) {
    const { value } = byId(option);
    if (value !== "") {
      request[option] = option === "scorer" ? value : Number(value);
    }
  }
  return request;
}

async function estimate() {
  clearErrors(...FIELDS, "general", "positives", "unlabeled");
  hideResult();
  const request = wanted();
  if (request.features.length === 0) {
    showError({ field: "features", message: "Select at least one column." });
    return;
  }
  working(true);
  try {
    const base = `sessions/${currentSession().session}/estimates`;
    const { id } = await ask("POST", base, request);
    await follow(`${base}/${id}`);
  } catch (error) {
    say("status", "");
    showError(error);
  } finally {
    working(false);
  }
}

async function follow(path) {
  for (;;) {
    if (cancelled) {
      await ask("DELETE", path);
      say("status", "Cancelled.");
      return;
    }
    const told = await ask("GET", path);
    if (told.state === "failed") {
      say("status", "");
      showError(told.error);
      return;
    }
    if (told.state === "done") {
      say("status", `Done in ${told.seconds.toFixed(1)} s.`);
      showResult(told.answer, told.downloads, `/api/${path}`);
      diagnose(path, (downloads) => showDiagnosed(told.answer, downloads, `/api/${path}`));
      return;
    }
    showStep(told);
    await pause();
  }
}

function showDiagnosed(answer, downloads, base) {
  showDownloads(answer, downloads, base);
  // For one sample the report says everything that the warnings say, and more.
  byId("warnings-part").hidden ||= answer.results.length === 1;
}

function showStep({ state, step, fraction, position }) {
  const before = position === 1 ? "1 other is ahead of you" : `${position} others are ahead of you`;
  say("status", state === "waiting" ? `Waiting: ${position ? before : "you are next"}.` : `Working: ${step} …`);
  if (fraction === null) {
    byId("progress").removeAttribute("value");
  } else {
    byId("progress").value = fraction;
  }
}

// The loop in `follow` stops the estimate before its next request.
function cancel() {
  cancelled = true;
  byId("cancel").disabled = true;
}

function working(busy) {
  cancelled = false;
  byId("cancel").disabled = false;
  byId("estimate").disabled = busy;
  byId("cancel").hidden = !busy;
  byId("progress").hidden = !busy;
}

start();
