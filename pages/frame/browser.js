// Run on every page: the session cookie, term descriptions, address events, presentation mode and skip link.

import { watchAddress } from './address.js';
import { listenForKeys } from './keyboard.js';
import { enablePresenting } from './presentation.js';
import { explainTerms, setColours } from './glossary_terms.js';

const COOKIE = 'vitviz_visit';
const REPLACED = Symbol.for('vitviz.cookie');
const STARTED = Symbol.for('vitviz.browser');
const SKIP_ID = 'vitviz-skip';
const PAGE = '[data-testid="stMainBlockContainer"]';
const SKIP_STYLE = `
#${SKIP_ID} { position: fixed; z-index: 1000000; top: 8px; left: 8px; padding: 8px 16px; border-radius: 8px;
  background: #1f4e9c; color: #fff; font: 1rem 'Source Sans', sans-serif; transform: translateY(-64px); }
#${SKIP_ID}:focus { transform: none; outline: 2px solid #fff; outline-offset: -4px; }
`;

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
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(SKIP_STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const link = document.createElement('a');
  link.id = SKIP_ID;
  link.href = '#';
  link.textContent = 'Skip to the page';
  link.addEventListener('click', (event) => {
    event.preventDefault(); // keeps the page's address
    const page = document.querySelector(PAGE);
    if (!page) return;
    page.tabIndex = -1; // focusable by a script only: the next Tab goes to the page's first control
    page.style.outline = 'none';
    page.focus();
  });
  document.body.prepend(link);
}

/** Give Streamlit's menu of narrow screens valid roles: its list holds groups of items, not items. */
function markMenu() {
  for (const node of document.querySelectorAll(
    '[data-testid="stSidebarNavItems"], [data-testid="stSidebarNavItems"] li',
  ))
    node.role = node.matches('ul') ? 'group' : 'none';
}

export default function browser() {
  if (!window[STARTED]) {
    window[STARTED] = true;
    explainTerms();
    listenForKeys();
  }
  watchAddress();
  enablePresenting();
  addSkipLink();
  return ({ header, colors }) => {
    storeToken(header);
    setColours(colors);
    markMenu();
  };
}
