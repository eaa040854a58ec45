// Presentation mode, toggled by keyboard.js: choose one picture of the page, mark it and its caption for page.css, and
// make it as large as the screen allows.

import { grow } from '../../vitviz/browser/kit/figure_scale.js';

const MARK = 'vitvizPresent';
const STORAGE_KEY = 'vitviz.present';
const FOLLOW_MS = 400; // how often the page is looked at for another picture
const MAIN = '[data-testid="stMain"]';
const PICTURE = 'data-vitviz-picture';
const CAPTION = 'data-vitviz-caption';
const ALONE = 'vitvizAlone'; // on the root: the page holds a marked picture
const LARGE = 0.4; // share of the largest view's area from which on a view may be the picture; the first one is
const RANGE = [0.5, 3]; // of the factor
const HALVINGS = 8;
const MOST_WIDE = 2.2; // of a picture that is too long for any screen
const FOOT_PX = 4;
const MOST_WAITS = 12; // calls without a picture until the page counts as drawn

let following = 0;
let waited = 0;
let fitted = ''; // sizes at the last fit

/** Return true in presentation mode. */
export const isPresenting = () => MARK in document.documentElement.dataset;

/** Start or end presenting; the mode survives a reload of this tab. */
export function present(on) {
  if (on) document.documentElement.dataset[MARK] = '';
  else delete document.documentElement.dataset[MARK];
  clearInterval(following);
  if (on) following = setInterval(showPicture, FOLLOW_MS);
  sessionStorage.setItem(STORAGE_KEY, on ? '1' : '');
  (on ? showPicture : showPage)();
}

/** Go on presenting after a reload. */
export function resumePresenting() {
  if (sessionStorage.getItem(STORAGE_KEY)) present(true);
}

const area = (node) => node.clientWidth * node.clientHeight;

/** Return true if the script has run and every view of the page has drawn. */
function isDrawn() {
  const app = document.querySelector('[data-testid="stApp"]');
  const views = [...document.querySelectorAll(`${MAIN} [data-testid="stBidiComponentIsolated"]`)];
  const boxes = views.map((view) => view.closest('[data-testid="stElementContainer"]'));
  return (
    app?.dataset.testScriptState === 'notRunning' && boxes.every((box) => box?.dataset.drawn || box?.clientHeight <= 1)
  );
}

function findPicture() {
  const views = [...document.querySelectorAll(`${MAIN} [data-testid="stElementContainer"]`)].filter(
    (box) => box.dataset.drawn && !box.closest('.st-key-lesson_panel, [data-testid="stExpander"]'),
  );
  const least = LARGE * Math.max(0, ...views.map(area));
  return views.find((box) => area(box) > 0 && area(box) >= least);
}

/** Return the first caption below the picture. */
function findCaption(picture) {
  const after = Node.DOCUMENT_POSITION_FOLLOWING;
  return [...document.querySelectorAll(`${MAIN} [data-testid="stCaptionContainer"]`)]
    .map((node) => node.closest('[data-testid="stElementContainer"]'))
    .find((box) => box && picture.compareDocumentPosition(box) & after && !box.closest('[data-testid="stExpander"]'));
}

function unmark() {
  for (const name of [PICTURE, CAPTION])
    for (const node of document.querySelectorAll(`[${name}]`)) node.removeAttribute(name);
  delete document.documentElement.dataset[ALONE];
}

/** Find the largest factor with which the picture fits above its caption. */
function fit(picture) {
  const caption = document.querySelector(`[${CAPTION}]`);
  const room = innerHeight - picture.getBoundingClientRect().top - scrolled() - (caption?.offsetHeight ?? 0) - FOOT_PX;
  const sizes = [room, picture.clientWidth, picture.clientHeight].join();
  if (sizes === fitted) return;
  const isFitting = (factor) => {
    grow(factor);
    return picture.scrollHeight <= room;
  };
  let [low, high] = RANGE;
  for (let i = 0; i < HALVINGS; i++) {
    const middle = (low + high) / 2;
    if (isFitting(middle)) low = middle;
    else high = middle;
  }
  if (!isFitting(low)) grow(Math.min(MOST_WIDE, Math.max(1, Math.min(innerWidth / 1200, innerHeight / 720)))); // it scrolls
  fitted = [room, picture.clientWidth, picture.clientHeight].join();
}

const scrolled = () => document.querySelector(MAIN)?.scrollTop ?? 0;

/** Show one picture of the page alone; call it again whenever the page may have changed. */
function showPicture() {
  let picture = document.querySelector(`[${PICTURE}]`);
  if (!picture?.clientHeight) {
    unmark();
    if (!isDrawn() && waited++ < MOST_WAITS) return; // the picture may be one that is still to come
    waited = 0;
    picture = findPicture();
    if (!picture) return;
    picture.setAttribute(PICTURE, '');
    findCaption(picture)?.setAttribute(CAPTION, '');
    document.documentElement.dataset[ALONE] = '';
    document.querySelector(MAIN)?.scrollTo(0, 0);
  }
  fit(picture);
}

/** Show the whole page again. */
function showPage() {
  unmark();
  fitted = '';
  grow(null);
}
