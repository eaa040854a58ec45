// The page's keyboard shortcuts: P toggles presentation mode, Escape ends it, arrow keys and Space change a lesson's stop.
// Page Up and Page Down, sent by a presenter's remote, work wherever the focus is. Views bind their own keys (kit/grid.js).

import { isPresenting, present } from './presentation.js';

const TEXT_FIELDS = 'input:not([type="radio"], [type="checkbox"]), textarea, select, [contenteditable="true"]';
const ARROW_KEY_ELEMENTS = `${TEXT_FIELDS}, input, canvas, [role="slider"], [role="radio"], [role="listbox"], [role="grid"], [role="application"]`;
// The stops that a key goes, and the elements that use the key themselves.
const KEYS = {
  ArrowRight: [1, ARROW_KEY_ELEMENTS],
  ArrowLeft: [-1, ARROW_KEY_ELEMENTS],
  ' ': [1, `${ARROW_KEY_ELEMENTS}, button, summary, [role="button"]`],
  PageDown: [1, TEXT_FIELDS],
  PageUp: [-1, TEXT_FIELDS],
};
const RETRY_MS = 100;
const LOST_MS = 2000; // after which a link that still stands is clicked once more
const MOST_CLICKS = 3;

let target = 0; // the stop to reach, from 1; 0 for none
let timer = 0;
let clicked = { href: '', time: 0, count: 0 };

/** Return the focused element, also inside of a view. */
function getFocusedElement() {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}

function findLink(direction) {
  return document.querySelector(`.st-key-lesson_${direction} a`);
}

/** Return the number of the stop whose links the panel shows; 0 if it shows none. */
function readStop() {
  const [back, next] = ['back', 'next'].map((way) => Number(findLink(way)?.href.match(/[?&]stop=(\d+)/)?.[1] ?? 0));
  return back ? back + 1 : next && next - 1;
}

/** Count every press, however fast, and go to the target stop by stop: only a stop's page has the next link. */
function go(stops) {
  target = Math.max(1, (target || readStop()) + stops);
  walk();
}

function walk() {
  clearTimeout(timer);
  if (!isPresenting()) {
    target = clicked.count = 0;
    return;
  }
  const stop = readStop();
  const link = findLink(target > stop ? 'next' : 'back');
  const isDrawn = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning';
  const isSame = clicked.href === link?.href;
  const isWaiting = (isSame || !stop) && performance.now() - clicked.time < LOST_MS;
  if (isDrawn && !isWaiting) {
    if (stop === target || !link || (isSame && clicked.count === MOST_CLICKS)) {
      target = clicked.count = 0;
      return;
    }
    clicked = { href: link.href, time: performance.now(), count: isSame ? clicked.count + 1 : 1 };
    link.click();
  }
  timer = setTimeout(walk, RETRY_MS);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.defaultPrevented) return;
  const node = getFocusedElement();
  const on = isPresenting();
  if (event.key.toLowerCase() === 'p' && !node?.matches(TEXT_FIELDS)) present(!on);
  else if (!on) return;
  else if (event.key === 'Escape') present(false);
  else if (event.key in KEYS && document.querySelector('.st-key-lesson_panel')) {
    const [stops, users] = KEYS[event.key];
    if (node?.matches(users)) return;
    event.preventDefault();
    go(stops);
  }
}

/** Count a user's click on the panel's links as a key's press: the link names another stop only once that is drawn. */
function onClick(event) {
  if (!event.isTrusted || event.ctrlKey || event.metaKey || event.shiftKey || !isPresenting()) return;
  const [back, next] = ['back', 'next'].map((way) => findLink(way)?.contains(event.target));
  if (!back && !next) return;
  event.preventDefault();
  event.stopPropagation();
  go(next ? 1 : -1);
}

/** Bind the keys. */
export function listenForKeys() {
  window.addEventListener('keydown', onKey);
  window.addEventListener('click', onClick, { capture: true });
}
