// The page's keyboard shortcuts: P toggles presentation mode, Escape ends it, arrow keys go through the stops of a lesson.
// Page Up and Page Down, sent by a presenter's remote, work wherever the focus is. Views bind their own keys (kit/grid.js).

import { isPresenting, present } from './presentation.js';

const TEXT_FIELDS = 'input:not([type="radio"], [type="checkbox"]), textarea, select, [contenteditable="true"]';
const ARROW_KEY_ELEMENTS = `${TEXT_FIELDS}, input, canvas, [role="slider"], [role="radio"], [role="listbox"], [role="grid"], [role="application"]`;
const REMOTE = { PageDown: 'next', PageUp: 'back' };

/** Return the focused element, also inside of a view. */
function getFocusedElement() {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}

function go(way) {
  document.querySelector(`.st-key-lesson_${way} a`)?.click();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  const node = getFocusedElement();
  const on = isPresenting();
  if (event.key.toLowerCase() === 'p' && !node?.matches(TEXT_FIELDS)) present(!on);
  else if (!on) return;
  else if (event.key === 'Escape') present(false);
  else if (event.key in REMOTE && !node?.matches(TEXT_FIELDS)) {
    event.preventDefault();
    go(REMOTE[event.key]);
  } else if (node?.matches(ARROW_KEY_ELEMENTS)) return;
  else if (event.key === 'ArrowRight') go('next');
  else if (event.key === 'ArrowLeft') go('back');
}

/** Bind the keys. */
export function listenForKeys() {
  window.addEventListener('keydown', onKey);
}
