// Says when the address of the page has changed: Streamlit writes it without an event.

export const CHANGED = 'vitviz:address';
const WATCHED = Symbol.for('vitviz.address');

/** Has every new address announced on the window, once a page. */
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
