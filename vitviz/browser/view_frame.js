// Draw views where Streamlit's frame (pages/views/base.js) is missing: in a self-contained HTML file with a button for its
// theme, also inside a notebook's output, which has the notebook's theme.

import { open } from './kit/blob.js';
import { createView, el } from './kit/dom.js';
import { theme } from './kit/colour_ramp.js';
import { inflate } from './module_loader.js';

const THEME = 'vitviz-theme'; // the last choice by the button
const DAMAGED = 'This view cannot be shown: its data in this file are damaged. Save or download the page again.';

/** Return the frame of a notebook's output that holds this document; null elsewhere. */
function findFrame() {
  try {
    return window.frameElement?.classList.contains('vitviz') ? window.frameElement : null;
  } catch {
    return null; // of another origin
  }
}

/** Put the views in place of the image before the frame, and keep the frame as high as they are. */
function fill(frame) {
  frame.previousElementSibling?.remove();
  new ResizeObserver(() => {
    frame.style.height = `${document.body.offsetHeight}px`;
  }).observe(document.body);
}

/** Return the browser's store of settings, which all files of a folder share; {} where the browser refuses it. */
function openStore() {
  try {
    return window.localStorage ?? {}; // null in some apps' own browsers
  } catch {
    return {}; // for this document alone
  }
}

/** Mount the views of an HTML file, and switch its theme. */
export async function start(urls) {
  const store = openStore();
  const root = document.documentElement;
  if (store[THEME]) root.dataset.theme = store[THEME];
  const places = [...document.querySelectorAll('script[data-message]')];
  const mounted = places.map(async (place) => {
    try {
      return await mount(place.parentElement, await inflate(place.textContent), urls);
    } catch (error) {
      el(place.parentElement, 'p', { role: 'alert' }, `${DAMAGED} (${error.message})`);
      return null;
    }
  });
  const views = (await Promise.all(mounted)).filter(Boolean);
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const node = document.querySelector('#theme');
  const frame = findFrame();
  const notebook = frame?.ownerDocument.body;
  if (notebook && 'jpThemeLight' in notebook.dataset) {
    const adopt = () => (root.dataset.theme = notebook.dataset.jpThemeLight === 'false' ? 'dark' : 'light');
    adopt();
    new MutationObserver(() => {
      adopt();
      draw();
    }).observe(notebook, { attributes: true, attributeFilter: ['data-jp-theme-light'] });
  }
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : dark.matches);
  function draw() {
    node.textContent = isDark() ? 'Use the light theme' : 'Use the dark theme';
    views.forEach((view) => view.draw());
  }
  node.onclick = () => {
    root.dataset.theme = store[THEME] = isDark() ? 'light' : 'dark';
    draw();
  };
  dark.onchange = draw;
  draw();
  document.querySelector('#late')?.remove();
  if (frame) fill(frame);
}

/**
 * Create the view of a message and keep it at the width of its parent.
 *   urls: addresses of modules by name (link.js)
 * Returns {draw(): for a new theme, end()}. Events that need a server are ignored; `alone` tells the view so.
 */
async function mount(parent, bytes, urls) {
  const { files, header, ...data } = open(bytes);
  let { arrays } = data;
  const root = el(parent, 'div', { class: 'vv', 'data-component': files[0].replace(/^.*\/|\.js$/g, '') });
  const unmounts = [];
  const { default: setup } = await import(urls[files[0]]);
  const onUnmount = (callback) => unmounts.push(callback);
  const update = createView(setup, { root, send() {}, trigger() {}, onUnmount, alone: true });
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
