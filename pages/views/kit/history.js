// The browser's history: one entry a page, whatever Streamlit pushes on the way to it.

const SETTLING_MS = 30000; // a page writes its full address within its first run, on a busy server later
const PATCHED = Symbol.for('vitviz.history');

/**
 * Lets the addresses that lead to a page's full one take one entry together, once a browser's page.
 *
 * Streamlit pushes an entry when the page changes and another when the script writes its query: Back would show the
 * bare address, whose page writes the query again, and never get further. On a busy server the two come in the other
 * order: the new page's query under the old page's name, then the name. What the visitor does ends the settling.
 */
export function oneEntryAPage() {
  if (window[PATCHED]) return;
  window[PATCHED] = true;
  const entries = new Entries();
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  history.pushState = (state, title, url) => {
    const next = new URL(url ?? location.href, location.href);
    if (entries.joins(next)) return history.replaceState(state, title, url);
    push(state, title, url);
    entries.stand();
  };
  history.replaceState = (state, title, url) => {
    replace(state, title, url);
    entries.stand();
  };
  for (const name of ['pointerdown', 'keydown', 'click']) {
    window.addEventListener(name, () => entries.act(), { capture: true });
  }
  window.addEventListener('popstate', (event) => entries.arrive(event), { capture: true });
}

const CONTROL = /[?&][^=&]*\./; // 'block.layer=3': a page writes only its own

class Entries {
  constructor() {
    this.settle();
    this.stand();
  }

  /** Remembers where the visitor stands. */
  stand() {
    this.here = { pathname: location.pathname, search: location.search };
  }

  /** Back or Forward: the page runs, and writes its address once more. */
  arrive(event) {
    if (this.isLeftOver()) {
      event.stopImmediatePropagation(); // Streamlit would run the page for nothing
      history.back();
      return;
    }
    this.settle();
    this.stand();
  }

  /**
   * Whether Back has led to what was pushed on the way to the page it comes from, before this code had come: its bare
   * name, or its query under the name of the page before.
   */
  isLeftOver() {
    const { pathname, search } = this.here;
    if (location.pathname === pathname) return !location.search && search !== '';
    return location.search === search && CONTROL.test(search);
  }

  /** Addresses of this page that come now belong together. */
  settle() {
    this.settlesUntil = performance.now() + SETTLING_MS;
    this.written = '';
  }

  /** What is written from now on is what the visitor has chosen: an entry of its own. */
  act() {
    this.settlesUntil = 0;
    this.written = '';
  }

  /** Whether an address takes the place of the one that stands. */
  joins(next) {
    if (next.pathname !== location.pathname) return this.turns(next);
    if (!location.search || performance.now() < this.settlesUntil) return true; // nobody chose a bare address
    this.written = next.search;
    return false;
  }

  /** Another page: it joins where its query has been pushed before its name was. */
  turns(next) {
    const early = this.written !== '' && next.search === this.written;
    this.settle();
    return early;
  }
}
