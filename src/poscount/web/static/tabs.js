// The tabs of the answer, with the keys that people expect: left, right, home and end.

import { byId } from "./page.js";

const tabs = () => [...document.querySelectorAll('[role="tab"]')].filter((tab) => !tab.hidden);

export function startTabs() {
  const list = byId("tabs");
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) {
      turnTo(tab.dataset.tab);
    }
  });
  // Back and forward go through the tabs that were open.
  window.addEventListener("popstate", () => {
    const wanted = location.hash.slice(1);
    if (tabs().some((tab) => tab.dataset.tab === wanted)) {
      openTab(wanted);
    }
  });
  list.addEventListener("keydown", (event) => {
    const all = tabs();
    const at = all.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined && at >= 0) {
      event.preventDefault();
      const next = all[(to + all.length) % all.length];
      next.focus();
      turnTo(next.dataset.tab);
    }
  });
}

// Somebody opens a tab: the browser's Back leads to the one before.
function turnTo(name) {
  if (openedTab() !== name) {
    if (!location.hash) {
      history.replaceState(null, "", `#${openedTab() ?? name}`);
    }
    history.pushState(null, "", `#${name}`);
  }
  openTab(name);
}

// The tab that the address names, if there is one.
export const namedTab = () => location.hash.slice(1);

export function openTab(name) {
  for (const tab of document.querySelectorAll('[role="tab"]')) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    byId(`panel-${tab.dataset.tab}`).hidden = !chosen;
    if (chosen) {
      tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
}

export const openedTab = () => document.querySelector('[role="tab"][aria-selected="true"]')?.dataset.tab;

export function offerTabs(names) {
  for (const tab of document.querySelectorAll('[role="tab"]')) {
    tab.hidden = !names.includes(tab.dataset.tab);
  }
}
