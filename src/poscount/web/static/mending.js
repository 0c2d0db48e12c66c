// Buttons that mend a problem: they change the settings that the server names.

import { byId, element } from "./page.js";

const ADDED = { na: ", ", units: "\n" }; // settings to which something is added

export function mendButtons(mends) {
  return mends.map(({ label, setting, value }) => {
    const button = element("button", label, { type: "button", class: "plain small mend" });
    button.addEventListener("click", () => {
      const field = byId(setting);
      field.value = setting in ADDED && field.value ? `${field.value}${ADDED[setting]}${value}` : value;
      field.dispatchEvent(new Event("change"));
    });
    return button;
  });
}
