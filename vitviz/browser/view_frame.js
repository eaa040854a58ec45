// Draw views where Streamlit's frame (pages/views/base.js) is missing: in a notebook, or in a self-contained HTML file with
// a button for its theme.

import { open } from './kit/blob.js';
import { createView, el } from './kit/dom.js';
import { theme } from './kit/colour_ramp.js';
import { inflate } from './module_loader.js';

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

/** Mount the views of an HTML file, and switch its theme. */
export async function start(urls) {
  const places = [...document.querySelectorAll('script[data-message]')];
  const views = await Promise.all(
    places.map(async (place) => mount(place.parentElement, await inflate(place.textContent), urls)),
  );
  const root = document.documentElement;
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const node = document.querySelector('#theme');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches);
  function draw() {
    node.textContent = isDark() ? 'Use the light theme' : 'Use the dark theme';
    views.forEach((view) => view.draw());
  }
  node.onclick = () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    draw();
  };
  dark.onchange = draw;
  draw();
}

/**
 * Create the view of a message and keep it at the width of its parent.
 *   urls: addresses of modules by name (link.js)
 * Returns {draw(): for a new theme, end()}. Events that need a server are ignored.
 */
async function mount(parent, bytes, urls) {
  const { files, header, ...data } = open(bytes);
  let { arrays } = data;
  const root = el(parent, 'div', { class: 'vv', 'data-component': files[0].replace(/^.*\/|\.js$/g, '') });
  const unmounts = [];
  const { default: setup } = await import(urls[files[0]]);
  const onUnmount = (callback) => unmounts.push(callback);
  const update = createView(setup, { root, send() {}, trigger() {}, onUnmount });
  let width = 0;
  let mode = '';
  function draw() {
    if (!root.clientWidth) return;
    width = root.clientWidth;
    const colors = theme(root);
    for (const name of ['query', 'muted', 'line', 'panel']) root.style.setProperty(`--vv-${name}`, colors[name]);
    if (mode && mode !== colors.mode) arrays = { ...arrays }; // images kept of them are made anew
    mode = colors.mode;
    update({ header, arrays, colors, width });
    root.dataset.ready = 'true';
  }
  const resized = new ResizeObserver(() => {
    if (root.clientWidth !== width) draw();
  });
  resized.observe(root);
  draw();
  return {
    draw,
    end() {
      resized.disconnect();
      unmounts.forEach((callback) => callback());
    },
  };
}
