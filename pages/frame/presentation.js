// Presentation mode: the picture alone in large type; keyboard.js toggles it.

import { showPage, showPicture } from './presentation_figure.js';

const MARK = 'vitvizPresent';
const STORAGE_KEY = 'vitviz.present';
const READY = Symbol.for('vitviz.present');
const FOLLOW_MS = 400; // how often the page is looked at for another picture
// Streamlit's focus frame starts below the header, which is hidden: the frame would cross the title.
// Of the page remain its title, its picture with the caption, the lesson's panel and the class bar.
const SHOWN = '[data-vitviz-picture], [data-vitviz-caption], h1, .st-key-lesson_panel, .st-key-class_bar';
const WITHIN = '.st-key-lesson_panel *, .st-key-class_bar *';
const STYLE = `
html[data-vitviz-present] { font-size: clamp(18px, 1.4vw, 30px) !important; }
html[data-vitviz-present] [data-testid="stSidebar"],
html[data-vitviz-present] [data-testid="stExpandSidebarButton"],
html[data-vitviz-present] [data-testid="stHeader"],
html[data-vitviz-alone] [data-testid="stMain"] :is([data-testid="stElementContainer"], [data-testid="stLayoutWrapper"],
  [data-testid="stColumn"], [data-testid="stExpander"]):not(:is(${SHOWN}), :has(${SHOWN}), ${WITHIN}) {
  display: none !important;
}
html[data-vitviz-present] [data-testid="stMain"]::before { display: none !important; }
html[data-vitviz-present] [data-testid="stMainBlockContainer"] { padding: 1rem 2rem; }
html[data-vitviz-alone] [data-testid="stMainBlockContainer"] { padding: 2px 1.5rem 0; }
html[data-vitviz-alone] [data-testid="stMain"] [data-testid="stVerticalBlock"]:not(${WITHIN}) { gap: 2px; }
html[data-vitviz-alone] [data-testid="stColumn"]:has([data-vitviz-picture]) { flex: 1 1 100% !important; width: 100%; }
html[data-vitviz-alone] [data-testid="stElementContainer"]:has(h1) { flex: none; height: 30px; overflow: hidden; }
html[data-vitviz-alone] [data-testid="stHeading"] { margin: 0; }
html[data-vitviz-alone] h1 {
  padding: 0 !important;
  overflow: hidden;
  font-size: 1.25rem;
  line-height: 1.4;
  text-overflow: ellipsis;
  white-space: nowrap;
}
html[data-vitviz-alone] [data-vitviz-caption] * { font-size: 1.125rem; line-height: 1.25; }
@media (min-width: 1200px) {
  html[data-vitviz-present] [data-testid="stMainBlockContainer"]:has(.st-key-lesson_panel) { padding-right: 19rem; }
  html[data-vitviz-present] .st-key-lesson_panel { width: 17rem !important; }
}
html[data-vitviz-present] .st-key-lesson_panel { max-height: calc(100vh - 2rem) !important; top: 1rem !important; }
`;
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

/** Add the mode's style sheet and go on presenting after a reload; called once a page. */
export function enablePresenting() {
  if (window[READY]) return;
  window[READY] = true;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  if (sessionStorage.getItem(STORAGE_KEY)) present(true);
}
