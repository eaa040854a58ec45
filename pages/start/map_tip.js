// The hint beside the map's pointer. It is placed by the style sheet alone: to measure what was just written would make
// the browser lay the page out in the middle of a hover.

import { el } from '../views/kit/dom.js';

const HIGHEST = 72; // px from the top, above which the hint stands below the pointer

/** A hint beside the pointer: show(x, y, text) in the view's own pixels, hide(). */
export function tip(root) {
  const row = el(root, 'div', { class: 'mp-tip-row', 'aria-hidden': 'true' });
  const room = el(row, 'span'); // gives way where the hint would leave the view
  const node = el(row, 'div', { class: 'vv-tip' });
  return {
    show(x, y, text) {
      if (node.textContent !== text) node.textContent = text;
      room.style.flexBasis = `${x + 12}px`;
      row.style.transform = y < HIGHEST ? `translateY(${y + 16}px)` : `translateY(calc(${y - 8}px - 100%))`;
      node.style.visibility = 'visible';
    },
    hide() {
      node.style.visibility = 'hidden';
    },
  };
}
