// Run on every page: the session cookie, term descriptions, presentation mode, translation and skip link.

import { el } from '../../vitviz/browser/kit/dom.js';
import { keepPicture } from './kept_picture.js';
import { listenForKeys } from './keyboard.js';
import { resumePresenting } from './presentation.js';
import { explainTerms, setColours } from './glossary_terms.js';
import { followTranslation } from './translation.js';

const COOKIE = 'vitviz_visit';
const REPLACED = Symbol.for('vitviz.cookie');
const STARTED = Symbol.for('vitviz.browser');
const SKIP_ID = 'vitviz-skip';
const RELOADED = 'vitviz-reloaded'; // when a blank page was last reloaded, in the tab's storage
const RELOAD_MS = 10_000; // no sooner again: its cause may come back with the page
const OPEN_PAGE = ':is([data-testid="stTopNavDropdownLink"], [data-testid="stSidebarNavLink"])[aria-current="page"]';
const PAGE = '[data-testid="stMainBlockContainer"]';

/**
 * Store the session's token in a cookie; it never stands in an address and is not sent to other sites.
 * A cookie that the server did not accept is replaced, once: another tab may have stored its own meanwhile.
 */
function storeToken({ token, replaces }) {
  const isSecure = location.protocol === 'https:';
  const name = isSecure ? `__Host-${COOKIE}` : COOKIE;
  const isStored = document.cookie.split('; ').some((part) => part.startsWith(`${name}=`));
  if (isStored && (!replaces || window[REPLACED])) return;
  window[REPLACED] = true;
  document.cookie = `${name}=${token}; Path=/; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

/** Add a link past menu and sidebar as the first keyboard stop, once a tab. */
function addSkipLink() {
  if (document.getElementById(SKIP_ID)) return;
  const link = el(null, 'a', { id: SKIP_ID, href: '#' }, 'Skip to the page');
  link.addEventListener('click', (event) => {
    event.preventDefault(); // keeps the page's address
    const page = document.querySelector(PAGE);
    if (!page) return;
    page.tabIndex = -1; // focusable by a script only: the next Tab goes to the page's first control
    page.focus();
  });
  document.body.prepend(link);
}

/** Reload a page that has become blank: one error while React draws takes away all that Streamlit has drawn. */
function reloadIfBlank() {
  const root = document.getElementById('root');
  const watch = new MutationObserver(() => {
    if (root.childElementCount || Date.now() - Number(sessionStorage.getItem(RELOADED)) < RELOAD_MS) return;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
  });
  watch.observe(root, { childList: true });
}

/** Mark the open page's group, and give the menu of narrow screens valid roles: its list holds groups of items. */
function markMenu(group) {
  document
    .querySelectorAll('[data-testid="stTopNavSection"]')
    .forEach((node, place) => node.setAttribute('aria-current', String(place === group)));
  for (const node of document.querySelectorAll(
    '[data-testid="stSidebarNavItems"], [data-testid="stSidebarNavItems"] li',
  ))
    node.role = node.matches('ul') ? 'group' : 'none';
}

/** Let the open page's link in the menu lead from a study to the gallery: Streamlit would draw the study again. */
function leaveStudy(event) {
  if (event.defaultPrevented && event.target.closest(OPEN_PAGE))
    document.querySelector(`${PAGE} a[href$="studies.study="]`)?.click();
}

export default function browser() {
  if (!window[STARTED]) {
    window[STARTED] = true;
    explainTerms();
    listenForKeys();
    window.addEventListener('click', leaveStudy);
    resumePresenting();
    reloadIfBlank();
    keepPicture();
    followTranslation();
  }
  addSkipLink();
  return ({ header, colors }) => {
    storeToken(header);
    setColours(colors);
    markMenu(header.group);
  };
}
