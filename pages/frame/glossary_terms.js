// Show a glossary term's explanation on hover, focus and tap, in one panel a page; Escape closes it.

import { el } from '../../vitviz/browser/kit/dom.js';

const WORD = 'a[href^="#word-"]';
const PANEL = 'vv-meaning';
const GAP_PX = 6;
const LEAVING_MS = 200; // time to move the pointer from the term into the panel

let word = null; // the term whose explanation is open
let leaving = 0;

function panel() {
  let node = document.getElementById(PANEL);
  if (!node) {
    node = el(document.body, 'div', { id: PANEL, role: 'tooltip', hidden: '' });
    node.addEventListener('pointerenter', () => clearTimeout(leaving));
    node.addEventListener('pointerleave', leave);
  }
  return node;
}

/** Fill the panel from the term's title: 'token (T, D): One vector …'. */
function fill(node, title) {
  const colon = title.indexOf(': ');
  node.replaceChildren(el(null, 'b', {}, title.slice(0, colon)), ` ${title.slice(colon + 2)}`);
}

function positionPanel() {
  if (!word?.isConnected) return close();
  const node = panel();
  const box = word.getClientRects()[0];
  const left = Math.max(GAP_PX, Math.min(box.left, innerWidth - node.offsetWidth - GAP_PX));
  const below = box.bottom + GAP_PX;
  const fits = below + node.offsetHeight <= innerHeight;
  node.style.left = `${left}px`;
  node.style.top = `${fits ? below : box.top - GAP_PX - node.offsetHeight}px`;
}

function open(term) {
  clearTimeout(leaving);
  if (term === word) return;
  close();
  word = term;
  word.dataset.meaning = word.title;
  word.removeAttribute('title'); // prevents the browser's tooltip
  word.setAttribute('aria-describedby', PANEL);
  const node = panel();
  fill(node, word.dataset.meaning);
  node.hidden = false;
  positionPanel();
}

function close() {
  clearTimeout(leaving);
  if (!word) return;
  if (!word.title) word.title = word.dataset.meaning;
  word.removeAttribute('aria-describedby');
  word = null;
  panel().hidden = true;
}

function leave() {
  clearTimeout(leaving);
  leaving = setTimeout(close, LEAVING_MS);
}

const wordAt = ({ target }) => target.closest?.(WORD);

function onClick(event) {
  const clicked = wordAt(event);
  if (!clicked) return;
  event.preventDefault(); // the link has no target
  open(clicked);
}

function onKey(event) {
  if (event.key !== 'Escape' || !word) return;
  event.stopPropagation(); // Escape closes only this panel
  close();
}

/** Listen for pointer, focus and keys on terms; called once a page. */
export function explainTerms() {
  const listen = (name, act) => document.addEventListener(name, act, { capture: true });
  listen('pointerover', (event) => {
    if (event.pointerType === 'mouse' && wordAt(event)) open(wordAt(event));
    else if (word && !word.isConnected) close(); // the page took the term away without a pointerout
  });
  listen('pointerout', (event) => event.pointerType === 'mouse' && wordAt(event) && leave());
  listen('focusin', (event) => wordAt(event)?.matches(':focus-visible') && open(wordAt(event)));
  listen('focusout', (event) => wordAt(event) && close());
  listen('pointerdown', ({ target }) => !target.closest?.(`${WORD}, #${PANEL}`) && close());
  listen('click', onClick);
  window.addEventListener('keydown', onKey, { capture: true });
  listen('scroll', () => word && positionPanel());
}

/** Set the theme's colours of terms and panel. */
export function setColours(colors) {
  for (const name of ['query', 'line', 'panel', 'ink'])
    document.documentElement.style.setProperty(`--term-${name}`, colors[name]);
}
