// The tabs of the answer, with the keys that people expect: left, right, home and end.

import { byId } from "./page.js";

const tabs = () => [...document.querySelectorAll('[role="tab"]')].filter((tab) => !tab.hidden);

export function startTabs(onOpen) {
  const list = byId("tabs");
  list.addEventListener("click", (event) => {
    const tab = event.target.closest('[role="tab"]');
    if (tab) {
      openTab(tab.dataset.tab);
      onOpen(tab.dataset.tab);
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
      openTab(next.dataset.tab);
      onOpen(next.dataset.tab);
    }
  });
}

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
