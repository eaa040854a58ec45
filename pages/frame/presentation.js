// Presentation mode: the picture alone in large type, styled by page.css; keyboard.js toggles it.

import { showPage, showPicture } from './presentation_figure.js';

const MARK = 'vitvizPresent';
const STORAGE_KEY = 'vitviz.present';
const FOLLOW_MS = 400; // how often the page is looked at for another picture
let following = 0;

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
