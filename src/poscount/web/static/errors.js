// Errors: each is shown beside its cause, with the buttons that mend it, and scrolled into view.

import { mendButtons } from "./mending.js";
import { byId, say } from "./page.js";

export function showError(refusal, otherwise = "general") {
  const field = byId(`${refusal.field}-error`) ? refusal.field : otherwise;
  const place = byId(`${field}-error`);
  say(`${field}-error`, refusal.message);
  place.append(...mendButtons(refusal.mends ?? [], otherwise));
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
