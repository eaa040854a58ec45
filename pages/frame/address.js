// Dispatch an event when the page's address changes: Streamlit writes it without one.

export const CHANGED = 'vitviz:address';
const WATCHED = Symbol.for('vitviz.address');

/** Dispatch CHANGED on the window for every new address; called once a page. */
export function watchAddress() {
  if (window[WATCHED]) return;
  window[WATCHED] = true;
  const announce = () => window.dispatchEvent(new Event(CHANGED));
  for (const name of ['pushState', 'replaceState']) {
    const change = history[name].bind(history);
    history[name] = (...args) => {
      change(...args);
      announce();
    };
  }
  window.addEventListener('popstate', announce);
}
