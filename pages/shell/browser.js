// What the browser keeps for a visit: the cookie that names it after a reload, and one entry of history a page; and
// that Escape closes a word's explanation.

import { closable } from './terms.js';

import { watchAddress } from './address.js';
import { presenting } from './present.js';

const COOKIE = 'vitviz_visit';
const SETTLING_MS = 30000; // a page writes its full address within its first run, on a busy server later

/** Names the visit for later connections of this browser; never in an address, never sent to another site. */
function remember(token) {
  const known = document.cookie.split('; ').some((part) => part.startsWith(`${COOKIE}=`));
  if (known) return;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `${COOKIE}=${token}; Path=/; SameSite=Strict${secure}`;
}

/**
 * Lets the address that a page writes after its first run take the place of the bare one that led to it.
 *
 * Streamlit pushes an entry when the page changes and another when the script writes its query: Back would show the
 * bare address, whose page writes the query again, and never get further. What the visitor does ends the settling.
 */
function oneEntryAPage() {
  const push = history.pushState.bind(history);
  let settlesUntil = location.search ? 0 : performance.now() + SETTLING_MS;
  const settle = () => {
    settlesUntil = performance.now() + SETTLING_MS;
  };
  const act = () => {
    settlesUntil = 0;
  };
  for (const name of ['pointerdown', 'keydown']) window.addEventListener(name, act, { capture: true });
  window.addEventListener('popstate', settle); // Back leads to a page that runs, and writes its address, once more
  history.pushState = (state, title, url) => {
    const next = new URL(url ?? location.href, location.href);
    const samePage = next.pathname === location.pathname;
    const settles = samePage && performance.now() < settlesUntil;
    if (!samePage) settle();
    return settles ? history.replaceState(state, title, url) : push(state, title, url);
  };
}

const PATCHED = Symbol.for('vitviz.history');

export default function browser() {
  if (!window[PATCHED]) {
    window[PATCHED] = true;
    oneEntryAPage();
    closable();
  }
  watchAddress();
  presenting();
  return ({ header }) => remember(header.token);
}
