// Errors: each is shown beside its cause, with the buttons that fix it, and scrolled into view.

import { fixButtons } from "./fixes.js";
import { byId, say } from "./page.js";

export function showError(refusal, otherwise = "general") {
  const field = byId(`${refusal.field}-error`) ? refusal.field : otherwise;
  const place = byId(`${field}-error`);
  say(`${field}-error`, refusal.message);
  place.append(...fixButtons(refusal.fixes ?? [], otherwise));
  const input = byId(field);
  if (input) {
    input.setAttribute("aria-invalid", "true");
    const details = input.closest("details");
    if (details) {
      details.open = true;
    }
  }
  place.scrollIntoView({ block: "nearest" });
}

export function clearErrors(...fields) {
  for (const field of fields) {
    say(`${field}-error`, "");
    byId(field)?.removeAttribute("aria-invalid");
  }
}
