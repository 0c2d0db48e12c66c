// The page: each step appears when it can be taken, and the answer when it is ready.

import { ask, pause } from "./api.js";
import {
  choices,
  forgetChoices,
  groupBy,
  pickedChoices,
  restoreChoices,
  showColumns,
  startColumns,
  whyNotYet,
} from "./columns.js";
import { diagnose, forgetDiagnosis } from "./diagnosis.js";
import { currentSession, isReceiving, resumeSession, startFiles, useExample, watchFiles } from "./files.js";
import { recall, remember, restoreSettings, settings } from "./memory.js";
import { byId, clearErrors, fillSelect, say, showError, whole } from "./page.js";
import { showDownloads, showResult } from "./result.js";

const FIELDS = ["features", "by", "method", "scorer", "bootstrap", "confidence", "random_state"];

let methods = [];
let cancelled = false; // whether to stop the estimate that is running
let busy = false; // whether an estimate is running

async function start() {
  watchFiles();
  byId("example").addEventListener("click", runExample);
  byId("estimate").addEventListener("click", estimate);
  byId("cancel").addEventListener("click", cancel);
  byId("method").addEventListener("change", showMethod);
  window.addEventListener("pagehide", () => remember({ picked: pickedChoices(), settings: settings() }));
  try {
    const info = await ask("GET", "info");
    startFiles(info.limits, showSession, allowEstimate);
    startColumns(info.limits, choicesChanged);
    say("version", info.version);
    const { upload_bytes: bytes, rows, columns } = info.limits;
    say("limits", `Up to ${whole(bytes / 1e6)} MB, ${whole(rows)} rows and ${whole(columns)} columns per file.`);
    const offered = await ask("GET", "methods");
    methods = offered.methods;
    fillSelect("method", methods.map(({ name, title }, i) => [name, i ? title : `${title} (recommended)`]));
    fillSelect("scorer", [["", "the method's default"], ...offered.scorers.map((name) => [name, name])]);
    await resume();
    showMethod();
    byId("example").disabled = false;
    document.body.dataset.ready = "true";
  } catch (error) {
    showError(error, "positives");
  }
}

// After the page was loaded again: the files, the choices, and the last answer or the wait for it.
async function resume() {
  const { picked = [], settings: values = {} } = recall();
  restoreSettings(values);
  restoreChoices(picked);
  await resumeSession();
  const { estimate: last } = currentSession() ?? {};
  if (currentSession()) {
    restoreSettings(values); // a new list of files has set some
  }
  if (last) {
    watchEstimate(async () => last.id);
  }
}

async function runExample() {
  byId("example").disabled = true;
  try {
    forgetChoices();
    groupBy("night");
    await useExample();
    await estimate();
  } catch (error) {
    say("file-status", "");
    showError(error, "positives");
  } finally {
    byId("example").disabled = false;
  }
}

function showSession(session) {
  const files = session?.files ?? [];
  byId("columns-section").hidden = files.length === 0;
  byId("settings-section").hidden = files.length === 0;
  hideResult();
  clearErrors(...FIELDS, "general");
  showColumns(session);
  const unlabeled = files.filter((file) => file.role === "unlabeled");
  byId("by-file-choice").hidden = unlabeled.length < 2;
  byId("by_file").checked = unlabeled.length > 1;
  allowEstimate();
}

function choicesChanged() {
  clearErrors("features", "by");
  allowEstimate();
}

// The button works when an estimate can be made; until then, what is lacking stands beside it.
function allowEstimate() {
  const roles = new Set((currentSession()?.files ?? []).map((file) => file.role));
  let lacking = "";
  if (isReceiving()) {
    lacking = "Wait until the file is read.";
  } else if (!roles.has("positives")) {
    lacking = "Add a file of positives.";
  } else if (!roles.has("unlabeled")) {
    lacking = "Add a file of unlabeled rows.";
  } else {
    lacking = tooFewPositives() || whyNotYet();
  }
  byId("estimate").disabled = busy || lacking !== "" || methods.length === 0;
  say("lacking", busy ? "" : lacking);
}

function tooFewPositives() {
  const { title, fewest_positives: fewest } = methods.find(({ name }) => name === byId("method").value);
  const { name, rows } = currentSession().files.find(({ role }) => role === "positives");
  return rows < fewest ? `${title} needs at least ${fewest} positives, but ${name} has ${whole(rows)}.` : "";
}

function hideResult() {
  byId("result").hidden = true;
  forgetDiagnosis();
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
  allowEstimate();
}

function wanted() {
  const method = methods.find(({ name }) => name === byId("method").value);
  const request = {
    method: method.name,
    ...choices(),
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
  await watchEstimate(async (base) => (await ask("POST", base, wanted())).id);
}

async function watchEstimate(begin) {
  hideResult();
  working(true);
  try {
    const base = `sessions/${currentSession().session}/estimates`;
    await follow(`${base}/${await begin(base)}`);
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

function working(begins) {
  busy = begins;
  cancelled = false;
  byId("cancel").disabled = false;
  allowEstimate();
  byId("cancel").hidden = !busy;
  byId("progress").hidden = !busy;
}

start();
