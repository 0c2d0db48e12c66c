// The page: steps from the files to an answer that can be shown.

import { ask, pause, tell } from "./api.js";
import { renderAnswer } from "./answer.js";
import { check, forgetCheck, renderCheck, startCheck } from "./check.js";
import { choices, columnsLine, renderColumns, startColumns, whyNotYet } from "./columns.js";
import { dataLine, fixButtons, renderData, replaceFiles, resume, sendAgain, startData, swap, useExample } from "./data.js";
import { button, byId, h, offer, show, whole } from "./dom.js";
import { pack, unpack } from "./saved_session.js";
import { renderReport, startShare } from "./share.js";
import { choose, chosen, emit, filesOf, nouns, on, recall, remember, state } from "./state.js";

const STEPS = ["data", "columns", "answer", "check", "share"];
const WAIT_FOR_MORE = 350; // milliseconds after a choice, before the answer is updated
const ALIVE = 240_000; // milliseconds between two signs of life, while somebody looks at the page
const EXAMPLES = {
  insects: { title: "Insects in a trap", nouns: { positives: "Aedes females", rows: "insects" }, picked: { night: "group:night" } },
  register: {
    title: "A register with gaps", nouns: { positives: "diabetics", rows: "patients" }, label: { column: "diagnosed", marks: { yes: "positive" } },
    picked: { clinic: "group:clinic" }, example: { truth: "This register is made up: in truth, 212 patients have diabetes without a diagnosis." },
  },
  species: {
    title: "Three species", nouns: { positives: "", rows: "penguins" }, label: { column: "species", marks: { Adelie: "positive", Gentoo: "positive", Chinstrap: "positive" } },
    picked: { island: "none", sex: "none", year: "none" }, example: { truth: "In truth: 85 Adelie, 58 Gentoo and 28 Chinstrap." },
  },
};

let running = null; // the promise of an estimate that runs
let stop = null; // "cancel", "back" to the answer before, "again" or "forgotten": why it ends
let timer = 0;
let seen = "data"; // the step at the top of the window
const open = new Set(["data", "columns", "check"]); // steps that are not folded into a line

async function start() {
  // The token came with the link; from now on a cookie has it.
  history.replaceState(null, "", location.pathname + location.hash);
  const info = await ask("GET", "info");
  startData(info.limits, quiet);
  startColumns();
  startCheck();
  startShare();
  byId("version").textContent = info.version;
  const { upload_bytes: bytes, rows, columns } = info.limits;
  byId("limits").textContent = `Up to ${whole(bytes / 1e6)} MB, ${whole(rows)} rows and ${whole(columns)} columns each.`;
  on("files", filesChanged);
  on("choices", changed);
  on("words", wordsChanged);
  on("answer", () => {
    forgetCheck();
    render();
  });
  on("known", () => {
    renderAnswer();
    renderReport();
    remember();
  });
  listen();
  render();
  const last = await resume();
  restoreSettings();
  if (last) {
    await follow(async () => last);
  } else if (recall().counted && !lacking()) {
    await count();
  }
  document.body.dataset.ready = "true";
}

function listen() {
  byId("example").addEventListener("click", askForExample);
  byId("try-example").addEventListener("click", () => runExample("insects"));
  byId("try-register").addEventListener("click", () => runExample("register"));
  byId("try-species").addEventListener("click", () => runExample("species"));
  byId("help").addEventListener("click", () => {
    byId("welcome").hidden = !byId("welcome").hidden;
    open.add("data");
    renderSteps();
  });
  byId("save-session").addEventListener("click", save);
  byId("open-session").addEventListener("change", openSession);
  byId("count").addEventListener("click", count);
  byId("cancel").addEventListener("click", () => {
    stop = "back";
  });
  byId("swap").addEventListener("click", swap);
  const watcher = new IntersectionObserver((entries) => {
    seen = entries.find(({ isIntersecting }) => isIntersecting)?.target.id ?? seen;
    renderSteps();
  }, { rootMargin: "-20% 0px -70% 0px" });
  STEPS.forEach((step) => watcher.observe(byId(step)));
  // Pictures are drawn as wide as there is room.
  window.matchMedia("(max-width: 44rem)").addEventListener("change", render);
  for (const step of STEPS) {
    byId(`${step}-change`)?.addEventListener("click", () => {
      open[open.has(step) ? "delete" : "add"](step);
      renderSteps();
    });
  }
  for (const name of ["method", "confidence", "bootstrap", "random_state", "by_file"]) {
    byId(name).addEventListener("change", ({ target }) => {
      state.options = { ...state.options, [name]: target.type === "checkbox" ? target.checked : target.value };
      changed();
    });
  }
  window.addEventListener("pagehide", () => {
    remember();
    if (state.session) {
      tell(`sessions/${state.session.session}/leave`);
    }
  });
  window.addEventListener("pageshow", ({ persisted }) => persisted && stayAlive());
  setInterval(() => document.visibilityState === "visible" && stayAlive(), ALIVE);
  // Should the goodbye of the page that was here before be late, the session is kept in spite of it.
  setTimeout(stayAlive, 5000);
}

async function stayAlive() {
  if (state.session) {
    await ask("GET", `sessions/${state.session.session}/reading`).catch((error) => error.status === 404 && sendAgain());
  }
}

function restoreSettings() {
  for (const name of ["method", "confidence", "bootstrap", "random_state"]) {
    byId(name).value = state.options[name];
  }
  byId("by_file").checked = state.options.by_file;
}

// What changes

function filesChanged() {
  renderData();
  renderColumns();
  byId("save-session").disabled = filesOf("positives", "unlabeled", "table").length === 0;
  byId("by-file-choice").hidden = filesOf("unlabeled").length < 2;
  changed();
}

// After the first answer, each change makes a new one by itself.
function changed() {
  clearTimeout(timer);
  remember();
  render();
  if (state.answer && !lacking() && state.answer.request !== JSON.stringify(wanted())) {
    timer = setTimeout(count, WAIT_FOR_MORE);
  }
}

function wordsChanged() {
  remember();
  renderSteps();
  renderAnswer();
  renderCheck();
  renderReport();
}

function render() {
  renderSteps();
  renderAnswer();
  renderCheck();
  renderReport();
}

// Why nothing can be counted; empty if something can.
function lacking() {
  if (state.sent.some(({ busy }) => busy)) {
    return "Wait until the file is read.";
  }
  const table = filesOf("table").length;
  if (!table && !filesOf("positives").length) {
    return "Add a file of known positives.";
  }
  if (!table && !filesOf("unlabeled").length) {
    return "Add a file of what is to be counted.";
  }
  return whyNotYet();
}

function wanted() {
  const { options } = state;
  return {
    files: state.session?.files.map(({ id, role, settings }) => [id, role, settings]), // taken out before it is sent
    ...choices(),
    by_file: options.by_file && filesOf("unlabeled").length > 1,
    method: options.method,
    recognisable: options.method === "rcq" ? options.recognisable : null,
    drop_known: options.drop_known,
    random_state: Number(options.random_state) || 0,
    ...(options.confidence ? { confidence: Number(options.confidence) } : {}),
    ...(options.bootstrap ? { bootstrap: Number(options.bootstrap) } : {}),
  };
}

function renderSteps() {
  const missing = lacking();
  const lines = { data: state.session && !missing ? dataLine() : "", columns: missing ? "" : columnsLine() };
  for (const step of ["data", "columns"]) {
    const done = state.answer !== null && lines[step] !== "";
    const folded = done && !open.has(step);
    byId(`${step}-line`).textContent = folded ? lines[step] : "";
    byId(`${step}-body`).hidden = folded;
    byId(`${step}-change`).hidden = !done;
    byId(`${step}-change`).textContent = folded ? "Change" : "Done";
    byId(`${step}-change`).setAttribute("aria-expanded", String(!folded));
  }
  byId("share-body").hidden = !open.has("share");
  byId("share-change").textContent = open.has("share") ? "Close" : "Preview";
  byId("share-change").setAttribute("aria-expanded", String(open.has("share")));
  const reached = state.answer ? "answer" : missing ? "data" : "columns";
  const here = STEPS.indexOf(seen) > STEPS.indexOf(reached) && state.answer ? seen : reached;
  for (const step of STEPS) {
    const link = byId(`to-${step}`);
    link.dataset.state = STEPS.indexOf(step) < STEPS.indexOf(here) ? "done" : step === here ? "here" : "next";
    link.ariaCurrent = step === here ? "step" : null;
  }
  byId("answer").hidden = filesOf("positives", "unlabeled", "table").length === 0;
  byId("count").hidden = state.answer !== null;
  byId("count").disabled = missing !== "" || running !== null;
  byId("count").textContent = `Count the ${nouns().positives}`;
  byId("lacking").textContent = running ? "" : missing;
}

// Counting

async function quiet() {
  clearTimeout(timer);
  stop = running ? "cancel" : stop;
  await running;
}

async function count() {
  if (running) {
    stop = "again";
    return;
  }
  const { files, ...request } = wanted();
  await follow(async (base) => (await ask("POST", base, request)).id);
}

function follow(begin) {
  running = watch(begin).finally(() => {
    running = null;
    byId("working").hidden = true;
    document.body.classList.remove("busy");
    const next = stop;
    stop = null;
    render();
    if (next === "again") {
      count();
    } else if (next === "back" && state.answer) {
      check(state.answer.path); // which the new estimate has stopped
    } else if (next === "forgotten") {
      sendAgain().then(() => lacking() || count());
    }
  });
  renderSteps();
  return running;
}

async function watch(begin) {
  const request = JSON.stringify(wanted());
  show("answer-error");
  byId("working").hidden = false;
  byId("status").textContent = "Counting …";
  document.body.classList.add("busy");
  try {
    const base = `sessions/${state.session.session}/estimates`;
    const path = `${base}/${await begin(base)}`;
    for (;;) {
      if (stop) {
        await ask("DELETE", path);
        return;
      }
      const told = await ask("GET", path);
      if (told.state === "failed") {
        throw told.error;
      }
      if (told.state === "done") {
        showAnswer(path, request, told);
        return;
      }
      showStep(told);
      await pause();
    }
  } catch (error) {
    if (error.status === 404) {
      stop = "forgotten";
    } else {
      showError(error);
    }
  }
}

function showError({ message, fixes = [], field }) {
  const role = ["positives", "unlabeled", "reference", "negatives", "table"].includes(field) ? field : "unlabeled";
  show("answer-error", `${message} ${state.answer ? "The answer below is the one from before." : ""}`, fixButtons(fixes, { role }));
  byId("answer").scrollIntoView({ block: "nearest" });
}

function showStep({ state: now, step, fraction, position }) {
  byId("status").textContent = now === "waiting" && position ? `Waiting: ${position} before you …` : `Counting: ${step} …`;
  byId("progress").toggleAttribute("value", fraction !== null);
  if (fraction !== null) {
    byId("progress").value = fraction;
  }
}

function showAnswer(path, request, { result, downloads }) {
  const first = state.answer === null;
  state.answer = { path, request, result, downloads };
  if (first) {
    open.delete("data");
    open.delete("columns");
  }
  emit("answer");
  renderColumns();
  remember();
  if (first) {
    byId("answer-title").focus({ preventScroll: true });
    byId("answer").scrollIntoView({ block: "start" });
  }
  check(path);
}

// Examples and saved sessions: what replaces somebody's files asks first.

function askForExample() {
  const close = () => show("confirm");
  show("confirm", h("span", {}, state.sent.length ? "An example replaces your files and choices. Which one?" : "Which one?"),
    Object.entries(EXAMPLES).map(([name, { title }]) => button(title, () => {
      close();
      runExample(name);
    })), button(state.sent.length ? "Keep mine" : "None", close));
  byId("confirm").scrollIntoView({ block: "nearest" });
}

async function runExample(name) {
  await quiet();
  state.answer = null;
  choose(EXAMPLES[name]);
  restoreSettings();
  emit("answer");
  try {
    await useExample(name);
    choose(EXAMPLES[name]);
    emit("files");
    await count();
  } catch (error) {
    byId("data-error").textContent = error.message;
  }
}

async function save() {
  try {
    const { session, files } = state.session;
    const blob = await pack(session, files, { ...chosen(), counted: state.answer !== null });
    offer(blob, `${files[0].name.replace(/\..*/, "")}.poscount-session`);
  } catch (error) {
    byId("data-error").textContent = error.message;
  }
}

async function openSession({ target }) {
  const [file] = target.files;
  target.value = "";
  byId("data-error").textContent = "";
  try {
    const { files, choices: saved } = await unpack(file);
    state.answer = null;
    await replaceFiles(files);
    choose(saved);
    restoreSettings();
    emit("files");
    emit("answer");
    if (saved.counted && !lacking()) {
      await count();
    }
  } catch (error) {
    byId("data-error").textContent = error.message;
  }
}

start().catch((error) => {
  byId("data-error").textContent = error.message;
});
