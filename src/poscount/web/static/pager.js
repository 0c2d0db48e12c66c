// Long lists, a part at a time: which part is shown, and buttons for the others.

import { element, whole } from "./page.js";

// Rows of a table at once; on a phone each of them is a block.
export const rowsShown = () => (window.matchMedia("(max-width: 60rem)").matches ? 20 : 60);

// `box` gets the buttons; they call `onTurn` with the first entry of another part. No buttons where
// everything is shown.
export function showPager(box, { first, size, total, what }, onTurn) {
  if (total <= size) {
    box.replaceChildren();
    return;
  }
  const last = Math.min(total, first + size);
  const turn = (text, to, possible) => {
    const button = element("button", text, { type: "button", class: "plain small" });
    button.disabled = !possible;
    button.addEventListener("click", () => {
      onTurn(to);
      // The buttons are new ones; whoever uses the keyboard stays where they were.
      const again = [...box.querySelectorAll("button")];
      (again.find((other) => other.textContent === text && !other.disabled) ?? again.find((other) => !other.disabled))?.focus();
    });
    return button;
  };
  const line = element("p", "", { class: "pager" });
  line.append(
    turn("◂ Previous", Math.max(0, first - size), first > 0),
    element("span", `${what} ${whole(first + 1)} to ${whole(last)} of ${whole(total)}`, { role: "status" }),
    turn("Next ▸", last, last < total),
  );
  box.replaceChildren(line);
}
