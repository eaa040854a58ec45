// Mount a view in a notebook's cell, in the notebook's colours.

import { el } from './kit/dom.js';
import { mount } from './view_frame.js';

const PAPER = 'var(--jp-layout-color0, var(--vscode-editor-background, #fff))';
const INK = 'var(--jp-content-font-color1, var(--vscode-editor-foreground, #111))';

/** Copy the notebook's colours, which may be names, to where the views read theirs. */
function adopt(node) {
  Object.assign(node.style, { background: PAPER, color: INK, padding: '8px' });
  const { backgroundColor, color } = getComputedStyle(node);
  node.style.setProperty('--st-background-color', backgroundColor);
  node.style.setProperty('--st-text-color', color);
  node.style.setProperty('--st-primary-color', 'var(--jp-brand-color1, #2457a6)');
  node.style.setProperty('--st-font', 'var(--jp-ui-font-family, system-ui, sans-serif)');
}

/** Draw the message of an anywidget model; returns the cleanup. */
export async function render(model, parent, urls) {
  const node = el(parent, 'div');
  adopt(node);
  const { buffer, byteOffset, byteLength } = model.get('message');
  const view = await mount(node, new Uint8Array(buffer, byteOffset, byteLength), urls);
  const watched = new MutationObserver(() => {
    adopt(node);
    view.draw();
  });
  watched.observe(document.body, { attributes: true, attributeFilter: ['data-jp-theme-light', 'data-jp-theme-name'] });
  return () => {
    watched.disconnect();
    view.end();
  };
}
