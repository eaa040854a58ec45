// Keep one browser history entry per page, whatever Streamlit pushes, and announce each address: Streamlit does not.

export const CHANGED = 'vitviz:address'; // event of the window
const SETTLING_MS = 30000; // a page writes its full address in its first run, later on a busy server
const PATCHED = Symbol.for('vitviz.history');

/**
 * Merge the addresses that Streamlit pushes for one page into one history entry; installed once per browser page.
 *
 * Streamlit pushes an entry when the page changes and another when the script writes its query: Back would show the
 * bare address, whose page writes the query again, and never get further. On a busy server the two come in the other
 * order: the new page's query under the old page's name, then the name. User input ends the merging.
 */
export function oneEntryAPage() {
  if (window[PATCHED]) return;
  window[PATCHED] = true;
  const entries = new Entries();
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  history.pushState = (state, title, url) => {
    const next = new URL(url ?? location.href, location.href);
    if (entries.isLate(next)) return;
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

const CONTROL = /[?&][^=&]*\./; // 'block.layer=3': a page writes only its own controls

/** Return the study that an address shows: each is a page to its reader, but not to Streamlit. */
const studyOf = ({ search }) => new URLSearchParams(search).get('studies.study') ?? '';

class Entries {
  constructor() {
    this.settle();
    this.stand();
  }

  stand() {
    const isTurned = this.here && this.here.pathname !== location.pathname;
    if (isTurned) document.documentElement.dataset.vitvizTurned = ''; // what was reserved for a first visit ends
    if (isTurned || (this.here && studyOf(this.here) !== studyOf(location)))
      document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0); // Streamlit does so for some pages only
    this.here = { pathname: location.pathname, search: location.search };
    window.dispatchEvent(new Event(CHANGED));
  }

  /** Handle Back or Forward: the page runs and writes its address again. */
  arrive(event) {
    if (this.isLeftOver()) {
      event.stopImmediatePropagation(); // Streamlit would run the page needlessly
      history.back();
      return;
    }
    this.settle();
    this.stand();
    this.isBack = true;
  }

  /** Return true for the address of the page that Back left, which a busy server sends under this page's name. */
  isLate({ pathname, search }) {
    const page = pathname.slice(pathname.lastIndexOf('/') + 1) || 'home';
    const isOwn = search.includes(`?${page}.`) || search.includes(`&${page}.`);
    return this.isBack && pathname === location.pathname && CONTROL.test(search) && !isOwn;
  }

  /**
   * Return true if Back led to an entry that was pushed before this code was loaded: a page's bare name, or its query
   * under the previous page's name.
   */
  isLeftOver() {
    const { pathname, search } = this.here;
    if (location.pathname === pathname) return !location.search && search !== '';
    return location.search === search && CONTROL.test(search);
  }

  /** Start merging addresses of this page. */
  settle() {
    this.settlesUntil = performance.now() + SETTLING_MS;
    this.written = '';
  }

  /** Stop merging: later addresses are user choices with their own entries. */
  act() {
    this.settlesUntil = 0;
    this.written = '';
    this.isBack = false;
  }

  /** Return true if an address replaces the current one. */
  joins(next) {
    if (next.pathname !== location.pathname || studyOf(next) !== studyOf(location)) return this.turns(next);
    if (!location.search || performance.now() < this.settlesUntil) return true; // a bare address is never a user choice
    this.written = next.search;
    return false;
  }

  /** Return true if another page's query was pushed before its name. */
  turns(next) {
    const early = this.written !== '' && next.search === this.written;
    this.settle();
    this.isBack = false;
    return early;
  }
}
