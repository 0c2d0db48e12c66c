// Buttons that fix a problem: the files of one role are read again with another setting.

import { element } from "./page.js";

export function fixButtons(fixes, role) {
  return fixes.map(({ label, setting, value, role: owner }) => {
    const button = element("button", label, { type: "button", class: "plain small fix" });
    const detail = { role: owner ?? role, setting, value };
    button.addEventListener("click", () => document.dispatchEvent(new CustomEvent("fix", { detail })));
    return button;
  });
}
