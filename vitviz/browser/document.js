// Start a self-contained HTML file: mount its views, and switch its theme.

import { mount } from './frame.js';

async function inflate(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Draw Plotly's figures, with the code that the file holds. */
async function drawFigures(places) {
  const code = await inflate(document.querySelector('script[data-plotly]').textContent);
  const script = document.createElement('script');
  script.src = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  await new Promise((resolve, reject) => {
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
  for (const place of places) {
    const { data, layout } = JSON.parse(new TextDecoder().decode(await inflate(place.textContent)));
    const node = place.parentElement;
    const axes = [layout.yaxis, layout.xaxis].map((axis) => axis?.title?.text).filter(Boolean);
    node.setAttribute('role', 'img');
    node.setAttribute('aria-label', layout.title?.text || axes.join(' over ') || 'Chart');
    await window.Plotly.newPlot(node, data, layout, { displayModeBar: false, responsive: true });
    node.dataset.ready = 'true';
  }
}

export async function start(urls) {
  const places = [...document.querySelectorAll('script[data-message]')];
  const views = await Promise.all(
    places.map(async (place) => mount(place.parentElement, await inflate(place.textContent), urls)),
  );
  const figures = [...document.querySelectorAll('script[data-figure]')];
  if (figures.length) await drawFigures(figures);
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
