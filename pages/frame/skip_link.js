// The first stop of the keyboard: a link over the menu and the sidebar, to what the page itself is about.

const ID = 'vitviz-skip';
const WAY = '[data-testid="stMainBlockContainer"]';
const STYLE = `
#${ID} { position: fixed; z-index: 1000000; top: 8px; left: 8px; padding: 8px 16px; border-radius: 8px;
  background: #1f4e9c; color: #fff; font: 1rem 'Source Sans', sans-serif; transform: translateY(-64px); }
#${ID}:focus { transform: none; outline: 2px solid #fff; outline-offset: -4px; }
`;

/** Puts the link before all else, once a tab: pages come and go below it. */
export function skipping() {
  if (document.getElementById(ID)) return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const link = document.createElement('a');
  link.id = ID;
  link.href = '#';
  link.textContent = 'Skip to the page';
  link.addEventListener('click', (event) => {
    event.preventDefault(); // the address is the page's own
    const page = document.querySelector(WAY);
    if (!page) return;
    page.tabIndex = -1; // takes the focus from a script alone: the next Tab goes to the page's first control
    page.style.outline = 'none';
    page.focus();
  });
  document.body.prepend(link);
}
