// Keep a page true while the browser translates it. A translator puts <font> nodes in the place of text nodes; React
// keeps the text nodes, writes new text into them and removes them, which shows old text or throws.

const TEXTS = 'p, li, td, th, label, button, a, summary, h1, h2, h3, h4'; // translated, and replaced, as a whole
const UNTRANSLATED = 'code, pre, kbd, canvas, .katex, [data-untranslated], [data-testid="stMetricValue"]';
const { removeChild, insertBefore } = Node.prototype;
const ANYWHERE = { childList: true, subtree: true };

const fonts = new WeakMap(); // by text node: the <font> in its place
const texts = new WeakMap(); // the reverse

const isText = (node) => node?.nodeType === Node.TEXT_NODE;
const isFont = (node) => node?.nodeName === 'FONT';

/** Return the node that stands in `parent` for a node of React's: itself or its translation; null for none. */
function find(node, parent) {
  const font = fonts.get(node);
  if (node.parentNode === parent) return node;
  return font?.parentNode === parent ? font : null;
}

/** Let React remove and insert nodes beside text that was translated. */
function acceptTranslations() {
  Node.prototype.removeChild = function (child) {
    const found = child && find(child, this);
    if (!found && isText(child) && !child.parentNode) return child;
    removeChild.call(this, found ?? child);
    return child;
  };
  Node.prototype.insertBefore = function (node, next) {
    const isGone = isText(next) && !next.parentNode;
    return insertBefore.call(this, node, next && (find(next, this) ?? (isGone ? null : next)));
  };
}

function restore(text) {
  const font = fonts.get(text);
  fonts.delete(text);
  if (font?.isConnected && !text.parentNode) font.replaceWith(text);
}

/** Put React's new text back, and the old text around it: the translator then translates the sentence anew. */
function restoreAround(text) {
  const block = fonts.get(text)?.closest(TEXTS);
  restore(text);
  for (const font of block?.querySelectorAll('font') ?? []) if (texts.has(font)) restore(texts.get(font));
}

const mark = (node) => node.setAttribute('translate', 'no');

function watch() {
  const written = new MutationObserver((records) => records.forEach(({ target }) => restoreAround(target)));
  const replaced = new MutationObserver((records) => {
    for (const { addedNodes, removedNodes, previousSibling, nextSibling } of records) {
      for (const node of addedNodes) {
        if (isText(node)) fonts.get(node)?.remove(); // React put it back
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        if (node.matches(UNTRANSLATED)) mark(node);
        node.querySelectorAll(UNTRANSLATED).forEach(mark);
      }
      for (const node of removedNodes) {
        if (!isText(node) || node.parentNode) continue;
        const font = [...addedNodes, previousSibling, nextSibling].find((other) => isFont(other) && !texts.has(other));
        if (!font) continue;
        fonts.set(node, font);
        texts.set(font, node);
        written.observe(node, { characterData: true });
      }
    }
  });
  replaced.observe(document.documentElement, ANYWHERE);
  document.querySelectorAll(UNTRANSLATED).forEach(mark);
}

/** Follow what a translator replaces; called once a tab. */
export function followTranslation() {
  acceptTranslations();
  watch();
}
