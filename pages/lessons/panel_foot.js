// The foot of a lesson's panel: asks the server to look when the address has changed, and begins to present.

import { button, el } from '../views/kit/dom.js';
import { CHANGED } from '../frame/address.js';
import { presenting, toggle } from '../frame/present.js';

const SETTLED_MS = 300; // a slider that is dragged writes many addresses

// Modules outlive a page: where this tab was, so that a new stop is begun at its words, and only a new one.
let begun = '';

/** A page that was scrolled down for the stop before begins this one at its top. */
function begin(link) {
  const { lesson, stop } = Object.fromEntries(link);
  const now = `${lesson} ${stop}`;
  if (begun && begun !== now) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
  begun = now;
}

/** The address's query as sorted pairs, as the server writes them. */
function said() {
  return [...new URLSearchParams(location.search)].sort(([a], [b]) => (a < b ? -1 : 1));
}

export default function lessonFoot({ root, trigger, onUnmount }) {
  presenting();
  const row = el(root, 'div', { class: 'lf' });
  button(row, 'Present', toggle, { class: 'lf-present' });
  el(row, 'span', { class: 'vv-muted' }, 'P: large type · ← → or Page Up, Page Down: stops · Escape: leave');
  let header = null;
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const now = JSON.stringify(said());
      if (header && !header.done && now !== JSON.stringify(header.link)) trigger('look', now);
    }, SETTLED_MS);
  };
  window.addEventListener(CHANGED, look);
  onUnmount(() => {
    clearTimeout(timer);
    window.removeEventListener(CHANGED, look);
  });
  return (message) => {
    header = message.header;
    begin(header.link);
    look();
  };
}
