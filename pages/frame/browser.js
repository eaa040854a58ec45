// What the browser does on every page: keeps the cookie that names the visit after a reload, explains dotted
// words, says in words what Plotly draws, says when the address has changed, presents, has a link past the menu.

import { watchAddress } from './address.js';
import { tellingFigures } from './figure_descriptions.js';
import { presenting } from './present.js';
import { skipping } from './skip_link.js';
import { colour, explaining } from './glossary_terms.js';

const COOKIE = 'vitviz_visit';

/** Names the visit for later connections of this browser; never in an address, never sent to another site. */
function remember(token) {
  const known = document.cookie.split('; ').some((part) => part.startsWith(`${COOKIE}=`));
  if (known) return;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `${COOKIE}=${token}; Path=/; SameSite=Strict${secure}`;
}

const HEARD = Symbol.for('vitviz.browser');

export default function browser() {
  if (!window[HEARD]) {
    window[HEARD] = true;
    explaining();
    tellingFigures();
  }
  watchAddress();
  presenting();
  skipping();
  return ({ header, colors }) => {
    remember(header.token);
    colour(colors);
  };
}
