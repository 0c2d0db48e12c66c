// What a tab remembers when its page is loaded again: the name of its session, and what was chosen.
// Another tab or another web site cannot read it, and it is never sent by itself, as a cookie is.

const KEY = "poscount";
const INPUTS = "input:not([type=file]), select[id], textarea";

export function recall() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // the browser does not allow it, or something else is there
  }
}

export function remember(parts) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ ...recall(), ...parts }));
  } catch {
    // Then the page forgets when it is loaded again, and works otherwise.
  }
}

// The settings by their ids; the choices of columns are not among them.
export function settings() {
  return Object.fromEntries([...document.querySelectorAll(INPUTS)].filter(({ id }) => id).map((input) => [input.id, valueOf(input)]));
}

export function restoreSettings(values) {
  for (const [id, value] of Object.entries(values)) {
    const input = document.getElementById(id);
    if (input?.type === "checkbox") {
      input.checked = value;
    } else if (input?.matches(INPUTS)) {
      const before = input.value;
      input.value = value;
      // A menu that does not have the entry any more would show nothing.
      input.value = input.value === value ? value : before;
    }
  }
}

const valueOf = (input) => (input.type === "checkbox" ? input.checked : input.value);
