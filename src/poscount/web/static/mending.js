// Buttons that mend a problem: the files of one role are read again with another setting.

import { element } from "./page.js";

export function mendButtons(mends, role) {
  return mends.map(({ label, setting, value, role: owner }) => {
    const button = element("button", label, { type: "button", class: "plain small mend" });
    const detail = { role: owner ?? role, setting, value };
    button.addEventListener("click", () => document.dispatchEvent(new CustomEvent("mend", { detail })));
    return button;
  });
}
