// The page: what to count on the left, the answer on the right.

import { ask, pause } from "./api.js";
import { forgetAudit, startAudit } from "./audit.js";
import { forgetChange, offerChange, startChange } from "./change.js";
import {
  choices,
  forgetChoices,
  groupBy,
  pickedChoices,
  restoreChoices,
  showColumns,
  startColumns,
  usefulFixes,
  whyNotYet,
} from "./columns.js";
import { forgetComparison, startCompare } from "./compare.js";
import { forgetComparisonOfSamples, offerComparison, startComparison } from "./comparison.js";
import { diagnose, forgetDiagnosis } from "./diagnosis.js";
import { clearErrors, showError } from "./errors.js";
import {
  currentSession,
  isReceiving,
  replaceFiles,
  resumeSession,
  startFiles,
  useExample,
  watchFiles,
} from "./files.js";
import { recall, remember, restoreSettings, settings } from "./memory.js";
import { fixButtons } from "./fixes.js";
import { OPTIONS } from "./options.js";
import { byId, fillSelect, say, whole } from "./page.js";
import { startReport } from "./report.js";
import { showDownloads, showResult, startResult } from "./result.js";
import { isDoubtful } from "./results_table.js";
import { offer, pack, unpack } from "./saved_session.js";
import { namedTab, offerTabs, openTab, startTabs } from "./tabs.js";

const FIELDS = ["features", "by", "method", ...Object.keys(OPTIONS), "random_state"];
const OF_ONE_TARGET = ["compare", "change", "audit"];
const OF_AN_ANSWER = ["answer", "belief", "compare", "change", "audit", "report", "code"];

let methods = [];
let cancelled = false; // whether to stop the estimate that is running
let busy = false; // whether an estimate is running
let answered = null; // {path, request, gone, tabs}: the estimate whose answer is shown, and if its files are gone

async function start() {
  // The token came with the link; from now on a cookie has it.
  history.replaceState(null, "", location.pathname + location.hash);
  watchFiles();
  startTabs();
  startResult();
  startCompare(
    () => ({ base: `sessions/${currentSession().session}/estimates`, wanted: wanted() }),
    () => methods,
  );
  for (const begin of [startReport, startChange, startComparison, startAudit]) {
    begin(() => answered.path);
  }
  for (const id of ["example", "try-example"]) {
    byId(id).addEventListener("click", runExample);
  }
  byId("help").addEventListener("click", () => {
    byId("welcome").hidden = !byId("welcome").hidden;
    byId("welcome").scrollIntoView({ block: "nearest" });
  });
  byId("save-session").addEventListener("click", save);
  byId("open-session").addEventListener("change", open);
  byId("estimate").addEventListener("click", estimate);
  byId("cancel").addEventListener("click", cancel);
  byId("method").addEventListener("change", showMethod);
  byId("settings-section").addEventListener("change", tellOutdated);
  window.addEventListener("pagehide", () => remember(chosen()));
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
    watchEstimate(async () => last, namedTab());
  }
}

const chosen = () => ({ picked: pickedChoices(), settings: settings() });

async function save() {
  const { session, files } = currentSession();
  try {
    const blob = await pack(session, files, { ...chosen(), answered: answered !== null });
    const [{ name }] = files;
    offer(blob, `${name.replace(/\..*/, "")}.poscount-session`);
  } catch (error) {
    showError(error);
  }
}

async function open() {
  const [file] = byId("open-session").files;
  byId("open-session").value = "";
  clearErrors("general");
  try {
    const { files, choices: saved } = await unpack(file);
    restoreSettings(saved.settings);
    await replaceFiles(files);
    restoreChoices(saved.picked);
    showColumns(currentSession());
    restoreSettings(saved.settings);
    showMethod();
    if (saved.answered && !byId("estimate").disabled) {
      await estimate();
    }
  } catch (error) {
    showError(error);
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
  byId("save-session").disabled = files.length === 0;
  byId("welcome").hidden = files.length > 0;
  byId("tabs").hidden = files.length === 0;
  offerTabs(files.length ? ["data", ...(answered?.tabs ?? [])] : []);
  if (files.length && !answered) {
    openTab("data");
  }
  if (!files.length) {
    forgetAnswer();
  }
  if (answered) {
    answered.gone = !answered.path.endsWith(`/${session.estimate}`);
  }
  clearErrors(...FIELDS, "general");
  showColumns(session);
  offerChange(session?.columns ?? []);
  offerComparison(files);
  const unlabeled = files.filter((file) => file.role === "unlabeled");
  byId("by-file-choice").hidden = unlabeled.length < 2;
  byId("by_file").checked = unlabeled.length > 1;
  allowEstimate();
  tellOutdated();
}

function choicesChanged() {
  clearErrors("features", "by");
  allowEstimate();
  tellOutdated();
}

// The last answer stays until there is another, and says that it is the last one.
function tellOutdated() {
  const same = !answered || busy || (!answered.gone && answered.request === JSON.stringify(wanted()));
  say("outdated", same ? "" : "This is the answer to the earlier choices: estimate again for a new one.");
}

function forgetAnswer() {
  answered = null;
  byId("dropping-reference").hidden = true;
  byId("result").hidden = true;
  delete document.body.dataset.answered;
  for (const name of [...OF_AN_ANSWER, "data"]) {
    byId(`panel-${name}`).hidden = true;
  }
  forgetDiagnosis();
  forgetFollowUps();
}

function forgetFollowUps() {
  forgetComparison();
  forgetComparisonOfSamples();
  forgetChange();
  forgetAudit();
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
  byId("lacking-fixes").replaceChildren(...(busy || !lacking ? [] : fixButtons(usefulFixes())));
}

function tooFewPositives() {
  const { title, fewest_positives: fewest } = methods.find(({ name }) => name === byId("method").value);
  const { name, rows } = currentSession().files.find(({ role }) => role === "positives");
  return rows < fewest ? `${title} needs at least ${fewest} positives, but ${name} has ${whole(rows)}.` : "";
}

function showMethod() {
  const method = methods.find(({ name }) => name === byId("method").value);
  const kind = method.reusable
    ? "It is fitted once, and the model file can be used for other data."
    : "It is fitted anew for each set of unlabeled rows.";
  say("method-hint", `${method.summary} ${kind}`);
  for (const option of Object.keys(OPTIONS)) {
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
      request[option] = OPTIONS[option](value);
    }
  }
  return request;
}

async function estimate() {
  clearErrors(...FIELDS, "general", "positives", "unlabeled");
  await watchEstimate(async (base) => (await ask("POST", base, wanted())).id);
}

async function watchEstimate(begin, tab = "answer") {
  const request = JSON.stringify(wanted());
  working(true);
  byId("working").scrollIntoView({ block: "nearest" });
  try {
    const base = `sessions/${currentSession().session}/estimates`;
    await follow(`${base}/${await begin(base)}`, request, tab);
  } catch (error) {
    showError(error);
    say("outdated", answered ? "There is no new answer. This is the answer from before." : "");
  } finally {
    working(false);
  }
}

async function follow(path, request, tab) {
  for (;;) {
    if (cancelled) {
      await ask("DELETE", path);
      say("outdated", answered ? "Cancelled. This is the answer from before." : "Cancelled.");
      return;
    }
    const told = await ask("GET", path);
    if (told.state === "failed") {
      showError(told.error);
      say("outdated", answered ? "There is no new answer. This is the answer from before." : "");
      return;
    }
    if (told.state === "done") {
      showAnswer(told, path, request, tab);
      return;
    }
    showStep(told);
    await pause();
  }
}

function showAnswer({ result: answer, downloads, seconds }, path, request, tab) {
  const tabs = OF_AN_ANSWER.filter((name) => answer.targets.length === 0 || !OF_ONE_TARGET.includes(name));
  answered = { path, request, gone: false, tabs };
  forgetFollowUps();
  offerTabs(["data", ...tabs]);
  openTab(["data", ...tabs].includes(tab) ? tab : "answer");
  byId("dropping-reference").hidden = tabs.length < OF_AN_ANSWER.length;
  showResult(answer, downloads, `/api/${path}`);
  say("outdated", "");
  say("made", `${answer.made} It took ${seconds.toFixed(1)} s.`);
  const doubtful = answer.results.length > 1 ? answer.results.filter(isDoubtful).length : 0;
  diagnose(path, doubtful, (ready) => showDownloads(answer, ready, `/api/${path}`));
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
  say("status", begins ? "Working …" : "");
  byId("progress").removeAttribute("value");
  byId("working").hidden = !busy;
  allowEstimate();
}

start();
