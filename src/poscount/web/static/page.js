// Helpers for all parts of the page. Text from files and from the server is never used as HTML.

export const byId = (id) => document.getElementById(id);

export function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text ?? "";
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  return made;
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

export const whole = (number) => Math.round(number).toLocaleString("en");

export function fillList(id, items) {
  byId(id).replaceChildren(...items.map((item) => element("li", item)));
}

export function fillSelect(id, options) {
  const kept = byId(id).value;
  byId(id).replaceChildren(...options.map(([value, text]) => element("option", text, { value })));
  if (options.some(([value]) => value === kept)) {
    byId(id).value = kept;
  }
}

export function say(id, text) {
  byId(id).textContent = text;
}
