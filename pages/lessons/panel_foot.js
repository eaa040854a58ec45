// The foot of a lesson's panel: asks the server to check the task when the address changes, and starts presenting.

import { button, el } from '../../vitviz/browser/kit/dom.js';
import { isPresenting, present } from '../frame/presentation.js';
import { CHANGED } from '../views/browser_history.js';

const SETTLE_MS = 300; // a dragged slider writes many addresses

// The tab's last stop, because modules outlive a page: only a new stop scrolls to its text.
let lastStop = '';

/** Scroll to the top of the page at a new stop. */
function scrollToNewStop(link) {
  const { lesson, stop } = Object.fromEntries(link);
  const current = `${lesson} ${stop}`;
  if (lastStop && lastStop !== current) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
  lastStop = current;
}

/** Return the address's query as sorted pairs, as the server writes them. */
function readQuery() {
  return [...new URLSearchParams(location.search)].sort(([a], [b]) => (a < b ? -1 : 1));
}

export default function lessonFoot({ root, trigger, onUnmount }) {
  const row = el(root, 'div', { class: 'lf' });
  const toggle = button(row, 'Present', () => (present(!isPresenting()), toggle.blur()), { class: 'lf-present' });
  el(row, 'span', { class: 'vv-muted' }, 'P: present, then ← → or Page Up, Page Down: change stop · Escape: exit');
  let header = null;
  let timer = 0;
  const scheduleCheck = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const query = JSON.stringify(readQuery());
      if (header && !header.done && query !== JSON.stringify(header.link)) trigger('look', query);
    }, SETTLE_MS);
  };
  window.addEventListener(CHANGED, scheduleCheck);
  onUnmount(() => {
    clearTimeout(timer);
    window.removeEventListener(CHANGED, scheduleCheck);
  });
  return (message) => {
    header = message.header;
    scrollToNewStop(header.link);
    scheduleCheck();
  };
}
