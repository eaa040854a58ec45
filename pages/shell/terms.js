// A word's explanation opens by style alone (terms.css); Escape closes it, until the pointer or the focus has left.

const OPEN = '.vv-term:hover, .vv-term:focus';

/** Lets Escape close the explanations that are open; once a page of the browser. */
export function closable() {
  const reopen = ({ target }) => target.closest?.('.vv-term')?.classList.remove('vv-closed');
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return;
    for (const term of document.querySelectorAll(OPEN)) term.classList.add('vv-closed');
  });
  document.addEventListener('pointerout', reopen);
  document.addEventListener('focusout', reopen);
}
