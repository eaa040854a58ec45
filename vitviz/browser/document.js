// Start a self-contained HTML file: mount its views, and switch its theme.

import { mount } from './view_frame.js';

async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

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
