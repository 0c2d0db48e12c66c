// The assumption report: requested when the answer is there, shown when it is ready.

import { followUp } from "./follow_up.js";
import { byId, element, say } from "./page.js";

const MARKS = { "do not use": "✖", check: "▲", note: "●", ok: "✓" };
const WORDS = { "do not use": "Do not use", check: "Check", note: "Note", ok: "OK" };

let shown = null; // address of the estimate whose report is wanted

// Remove the last report; one that is not ready yet will not be shown.
export function forgetDiagnosis() {
  shown = null;
  say("diagnosis-status", "");
  say("diagnosis-rows", "");
  byId("findings").replaceChildren();
  byId("unfound").hidden = true;
  byId("diagnose-part").hidden = true;
}

// `doubtful` is the number of groups that have warnings of their own.
export async function diagnose(path, doubtful, onReady) {
  forgetDiagnosis();
  shown = path;
  say("diagnosis-status", "The assumptions are being checked …");
  try {
    const told = await followUp(path, "diagnosis", {}, () => {}, () => shown === path);
    if (told && shown === path) {
      showDiagnosis(told.result, doubtful);
      onReady(told.downloads);
    }
  } catch (error) {
    if (shown === path) {
      say("diagnosis-status", unchecked(error.message));
    }
  }
}

const unchecked = (reason) => `The assumptions were not checked. ${reason}`;

function showDiagnosis({ rows, findings, skipped: missing, command }, doubtful) {
  const doubts = ["do not use", "check", "note"].flatMap((severity) => of(findings, severity));
  const fine = of(findings, "ok");
  const warnings = ["do not use", "check"].flatMap((severity) => of(findings, severity)).length;
  const reasons = warnings === 1 ? "1 reason" : `${warnings} reasons`;
  const total = findings.length + missing.length;
  const checked =
    missing.length >= findings.length
      ? `Only ${findings.length} of ${total} checks could be made`
      : "The assumptions are checked";
  say(
    "diagnosis-status",
    warnings
      ? `${checked}: ${reasons} to doubt the answer.`
      : `${checked}: ${nothing(doubtful)} That is no proof; see below.`,
  );
  say("diagnosis-rows", rows);
  say("diagnose", command);
  byId("diagnose-part").hidden = false;
  byId("findings").replaceChildren(...doubts.map(findingItem));
  say("unfound-title", `${fine.length} checks found nothing wrong, ${missing.length} could not be made`);
  byId("unfound-list").replaceChildren(
    ...fine.map(findingItem),
    ...missing.map(({ title, reason }) => element("li", `Not checked: ${title}: ${reason}`)),
  );
  byId("unfound").hidden = fine.length + missing.length === 0;
}

function nothing(doubtful) {
  if (doubtful === 0) {
    return "no reason to doubt the answer was found.";
  }
  const groups = doubtful === 1 ? "1 group has" : `${doubtful} groups have`;
  return `all rows together give no reason to doubt, but ${groups} warnings: see the answer.`;
}

const of = (findings, severity) => findings.filter((finding) => finding.severity === severity);

function findingItem({ severity, title, sentence, advice, figures }) {
  const item = element("li", "", { class: `finding ${severity.replaceAll(" ", "-")}` });
  const head = element("strong", "");
  head.append(element("span", MARKS[severity], { class: "mark", "aria-hidden": "true" }));
  head.append(`${WORDS[severity]}: ${title}`);
  item.append(head, element("p", sentence));
  if (advice) {
    item.append(element("p", `What to do: ${advice}`));
  }
  const more = document.createElement("details");
  more.append(element("summary", "How reliable is this check?"), element("p", figures));
  item.append(more);
  return item;
}
