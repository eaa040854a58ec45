// Keep the old page's or section's picture, dimmed, until the next one is drawn: Streamlit removes it before.
// The copy lies over the page in a closed shadow root, so that nothing else finds it, and takes no pointer.

import { el } from '../../vitviz/browser/kit/dom.js';

const MAIN = '[data-testid="stMain"]';
const BLOCK = '[data-testid="stMainBlockContainer"]';
const VIEW = '[data-testid="stBidiComponentRegular"], [data-testid="stBidiComponentIsolated"]';
const SKELETON = '[data-testid="stSkeleton"]';
const ELEMENT = '[data-testid="stElementContainer"]';
const RUNNING = '[data-test-script-state="running"], [data-test-script-state="rerunRequested"]';
const ACTION_MS = 5000; // after a click or key: polls, too, replace views
const LONGEST_MS = 8000; // of a copy, if nothing is ever drawn
const TITLE = 'h1';
const SECTIONS = '[data-testid="stButtonGroup"]';
const LOOK_MS = 100;
const SILENT_MS = 500; // in which the next page's run begins
const LEAST_PX = 60; // height of a view that counts as a picture
const DIM = '0.45';

let acted = -ACTION_MS;
let place = null; // the page's block before it changed: {left, top, width, padding}
let pictures = null; // after a click on a section: top of every drawn view; else null
let styles = null; // the page's rules for the copy: {count, sheet}
let copy = null; // {node, timer, since, start: top of a section's picture, ran: the next page's run has begun}

/** Return the page's rules as one sheet; a shadow root does not see those of the document. */
function collectStyles() {
  const sheets = [...document.styleSheets].filter((sheet) => !sheet.href || sheet.href.startsWith(location.origin));
  const rules = sheets.flatMap((sheet) => [...sheet.cssRules]);
  if (styles?.count !== rules.length) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules.map((rule) => rule.cssText).join('\n'));
    styles = { count: rules.length, sheet };
  }
  return styles.sheet;
}

/** Copy a node with what its canvases and shadow roots show. */
function copyNode(node) {
  const twin = node.cloneNode(false);
  if (node.nodeName === 'CANVAS') {
    if (node.width && node.height) twin.getContext('2d').drawImage(node, 0, 0);
  } else if (node.shadowRoot) {
    const root = twin.attachShadow({ mode: 'closed' });
    root.adoptedStyleSheets = [...node.shadowRoot.adoptedStyleSheets];
    root.append(...[...node.shadowRoot.childNodes].map(copyNode));
  }
  twin.append?.(...[...node.childNodes].filter(({ nodeName }) => nodeName !== 'SCRIPT').map(copyNode));
  return twin;
}

const views = (node) => [...(node.matches?.(VIEW) ? [node] : []), ...(node.querySelectorAll?.(VIEW) ?? [])];
/** The views on the page, and the places of those that are still loaded; invisible ones are left out. */
const listOpen = (main) =>
  [...views(main), ...main.querySelectorAll(SKELETON)].filter(
    (view) => (view.closest(ELEMENT) ?? view).clientHeight > LEAST_PX,
  );
const isDrawn = (view) => view.closest(ELEMENT)?.dataset.drawn === 'true';

const isKnown = (view) => pictures.has(view);

/** Return [parent, nodes] of the parent that lost most nodes, if the page was left (its title is gone) or the section. */
function findRemoved(records) {
  const groups = new Map();
  for (const { target, removedNodes } of records)
    for (const node of target.closest(BLOCK) ? removedNodes : [])
      if (node.nodeType === Node.ELEMENT_NODE && !node.isConnected)
        groups.set(target, [...(groups.get(target) ?? []), node]);
  const size = ([, nodes]) => nodes.reduce((sum, node) => sum + node.querySelectorAll('*').length, 0);
  const found = [...groups].sort((first, second) => size(second) - size(first));
  const isLeft = found.some(([, nodes]) => nodes.some((node) => node.matches(TITLE) || node.querySelector(TITLE)));
  if (isLeft) return found[0];
  return (pictures && found.find(([, nodes]) => nodes.flatMap(views).some(isKnown))) || null;
}

/** Return `nodes` in shallow copies of their ancestors: rules name them. Those around the page's block have no box. */
function surround(target, nodes) {
  let inner = target.cloneNode(false);
  inner.append(...nodes.map(copyNode));
  let isAround = target.matches(BLOCK);
  for (let node = target.parentElement; node && node !== document.body; node = node.parentElement) {
    const outer = node.cloneNode(false);
    if (isAround) outer.style.setProperty('display', 'contents', 'important');
    if (node.matches(BLOCK)) outer.style.padding = place.padding; // set by a rule of the whole document
    isAround ||= node.matches(BLOCK);
    outer.append(inner);
    inner = outer;
  }
  return inner;
}

function show([target, nodes]) {
  const main = document.querySelector(MAIN);
  if (!main || !place) return;
  drop();
  const box = main.getBoundingClientRect();
  const node = el(document.body, 'div', { 'aria-hidden': 'true', inert: '' });
  Object.assign(node.style, {
    position: 'fixed',
    zIndex: '90',
    left: `${box.left}px`,
    top: `${box.top}px`,
    width: `${main.clientWidth}px`,
    height: `${box.height}px`,
    overflow: 'hidden',
    pointerEvents: 'none',
    background: getComputedStyle(document.querySelector('.stApp')).backgroundColor,
  });
  const root = node.attachShadow({ mode: 'closed' });
  root.adoptedStyleSheets = [collectStyles()];
  const page = el(root, 'div');
  const { left, top, width } = place;
  Object.assign(page.style, {
    position: 'absolute',
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    opacity: DIM,
  });
  page.append(surround(target, nodes));
  copy = { node, timer: setInterval(uncover, LOOK_MS), since: performance.now(), start: 0 };
  const index = pictures ? nodes.flatMap(views).findIndex(isKnown) : -1;
  if (index >= 0) {
    copy.start = pictures.get(nodes.flatMap(views)[index]);
    const drawnAt = views(page)[index].getBoundingClientRect().top - box.top;
    page.style.top = `${top + copy.start - drawnAt}px`;
  }
  uncover();
}

function drop() {
  if (!copy) return;
  clearInterval(copy.timer);
  copy.node.remove();
  copy = null;
}

/** Uncover the next page's title and controls once its picture has a place, and all of it once the picture is drawn. */
function uncover() {
  if (!copy) return;
  if (performance.now() - copy.since > LONGEST_MS) return drop();
  const main = document.querySelector(MAIN);
  const top = main.getBoundingClientRect().top;
  const open = listOpen(main);
  if (open.some(isDrawn)) return drop();
  if (open.length) {
    const start = (open[0].closest(ELEMENT) ?? open[0]).getBoundingClientRect().top - top;
    copy.node.style.clipPath = `inset(${Math.max(0, start)}px 0 0 0)`;
    return;
  }
  const title = main.querySelector(TITLE)?.getBoundingClientRect();
  if (title) copy.node.style.clipPath = `inset(${Math.max(0, title.bottom - top, copy.start)}px 0 0 0)`;
  const isRunning = Boolean(document.querySelector(RUNNING));
  copy.ran ||= isRunning;
  if (!isRunning && (copy.ran || performance.now() - copy.since > SILENT_MS)) drop(); // a page without a picture
}

/** Remember where the page stands whenever a user acts: a removed page has no place any more. */
function remember({ target }) {
  acted = performance.now();
  const [main, block] = [document.querySelector(MAIN), document.querySelector(BLOCK)];
  if (!main || !block) return;
  const [outer, inner] = [main.getBoundingClientRect(), block.getBoundingClientRect()];
  place = { left: inner.left - outer.left, top: inner.top - outer.top, width: inner.width };
  place.padding = getComputedStyle(block).padding;
  const drawn = target.closest?.(SECTIONS) ? listOpen(main).filter(isDrawn) : null;
  pictures = drawn && new WeakMap(drawn.map((view) => [view, view.getBoundingClientRect().top - outer.top]));
}

export function keepPicture() {
  for (const name of ['pointerdown', 'keydown', 'click']) window.addEventListener(name, remember, true);
  window.addEventListener('popstate', remember);
  const watch = new MutationObserver((records) => {
    if (copy) uncover();
    if (performance.now() - acted > ACTION_MS) return;
    const removed = findRemoved(records);
    const main = document.querySelector(MAIN);
    if (removed && main && !copy && !listOpen(main).some(isDrawn)) show(removed);
  });
  watch.observe(document.getElementById('root'), {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['data-drawn', 'data-test-script-state'],
  });
}
