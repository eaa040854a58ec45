// A dotted word of the page's text explains itself: on hover, focus and tap, in one panel a page; Escape closes it.

const WORD = 'a[href^="#word-"]';
const PANEL = 'vv-meaning';
const GAP_PX = 6;
const LEAVING_MS = 200; // the way from the word into the panel

let word = null; // whose explanation is open
let leaving = 0;

function panel() {
  let node = document.getElementById(PANEL);
  if (!node) {
    node = document.createElement('div');
    Object.assign(node, { id: PANEL, role: 'tooltip', hidden: true });
    node.addEventListener('pointerenter', () => clearTimeout(leaving));
    node.addEventListener('pointerleave', leave);
    document.body.append(node);
  }
  return node;
}

/** The explanation as the word's title says it: 'token (T, D): One vector …'. */
function fill(node, said) {
  const colon = said.indexOf(': ');
  const name = document.createElement('b');
  name.textContent = said.slice(0, colon);
  node.replaceChildren(name, ` ${said.slice(colon + 2)}`);
}

function place() {
  if (!word?.isConnected) return close();
  const node = panel();
  const box = word.getClientRects()[0];
  const left = Math.max(GAP_PX, Math.min(box.left, innerWidth - node.offsetWidth - GAP_PX));
  const below = box.bottom + GAP_PX;
  const fits = below + node.offsetHeight <= innerHeight;
  node.style.left = `${left}px`;
  node.style.top = `${fits ? below : box.top - GAP_PX - node.offsetHeight}px`;
}

function open(which) {
  clearTimeout(leaving);
  if (which === word) return;
  close();
  word = which;
  word.dataset.meaning = word.title;
  word.removeAttribute('title'); // the browser's own tooltip would lie over it
  word.setAttribute('aria-describedby', PANEL);
  const node = panel();
  fill(node, word.dataset.meaning);
  node.hidden = false;
  place();
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
  event.preventDefault(); // it leads nowhere
  open(clicked);
}

function onKey(event) {
  if (event.key !== 'Escape' || !word) return;
  event.stopPropagation(); // of what is open, Escape closes the uppermost
  close();
}

/** Lets dotted words explain themselves; once a page of the browser. */
export function explaining() {
  const listen = (name, act) => document.addEventListener(name, act, { capture: true });
  listen('pointerover', (event) => event.pointerType === 'mouse' && wordAt(event) && open(wordAt(event)));
  listen('pointerout', (event) => event.pointerType === 'mouse' && wordAt(event) && leave());
  listen('focusin', (event) => wordAt(event)?.matches(':focus-visible') && open(wordAt(event)));
  listen('focusout', (event) => wordAt(event) && close());
  listen('pointerdown', ({ target }) => !target.closest?.(`${WORD}, #${PANEL}`) && close());
  listen('click', onClick);
  window.addEventListener('keydown', onKey, { capture: true });
  listen('scroll', () => word && place());
}

/** Gives the words and their panel the theme's colours. */
export function colour(colors) {
  for (const name of ['query', 'line', 'panel', 'ink'])
    document.documentElement.style.setProperty(`--term-${name}`, colors[name]);
}
