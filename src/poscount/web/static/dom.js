// Elements and numbers. Text from files and from the server is never used as HTML.

export const byId = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes and children; a value that is a function listens to that event, and one
// that is false, null or undefined is left out.
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(name, value);
    } else if (value === true) {
      made.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      made.setAttribute(name, value);
    }
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const button = (text, click, attributes = {}) => h("button", { type: "button", class: "act", click, ...attributes }, text);

const FOCUSABLE = "a, button, input, select, textarea, summary";

// What tells an element from the others of its box, also when it is made anew.
const known = (made) => `${made.tagName} ${made.id} ${made.getAttribute("aria-label")} ${JSON.stringify(made.dataset)} ${made.textContent}`;

// Fill a box anew; whoever is at an element of it stays there.
export function show(id, ...children) {
  const box = byId(id);
  const held = box.contains(document.activeElement) ? known(document.activeElement) : null;
  box.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (held) {
    [...box.querySelectorAll(FOCUSABLE)].find((made) => known(made) === held)?.focus({ preventScroll: true });
  }
}

// How wide a picture can be in a box.
export const room = (id, most) => Math.min(most, byId(id).clientWidth || most);

export const whole = (number) => Math.round(number).toLocaleString("en");

const RARE = 0.01;

// A share as people say it: rare ones in 1,000. No line ends before its sign.
export function share(value, most = value) {
  if (value === 0) {
    return "0\u00a0%";
  }
  if (most < RARE && most > 0) {
    return `${+(1000 * value).toPrecision(2)}\u00a0‰`;
  }
  return `${most < 0.1 ? (100 * value).toFixed(1) : Math.round(100 * value)}\u00a0%`;
}

export function range({ low, high }) {
  const [from, to] = [share(low, high), share(high, high)];
  return `${from.replace(/\s.*/, "")} to ${to}`;
}

export const sure = (value) => (value > 0.995 ? "more than 99\u00a0%" : value < 0.005 ? "less than 1\u00a0%" : `${Math.round(100 * value)}\u00a0%`);

export function listed(names, most = 4) {
  const shown = names.slice(0, most);
  const rest = names.length - shown.length;
  if (rest > 0) {
    return `${shown.join(", ")} and ${rest} more`;
  }
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown.join("");
}

export const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;

// Give the user a file.
export function offer(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
