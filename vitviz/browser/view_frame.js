// Draw a view in a document or notebook, where Streamlit's frame (pages/views/base.js) is missing.

import { open } from './kit/blob.js';
import { createView, el } from './kit/dom.js';
import { theme } from './kit/colour_ramp.js';

/**
 * Create the view of a message and keep it at the width of its parent.
 *   urls: addresses of modules by name (link.js)
 * Returns {draw(): for a new theme, end()}. Events that need a server are ignored.
 */
export async function mount(parent, bytes, urls) {
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
