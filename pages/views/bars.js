// Draw class probabilities as bars, optionally with the probabilities before a change; another view may replace them
// ('bars' on the bus) until the server's next message.

import { listen } from '../../vitviz/browser/kit/bus.js';
import { el } from '../../vitviz/browser/kit/dom.js';
import { percent } from '../../vitviz/browser/kit/text.js';

export default function bars({ root, onUnmount }) {
  const table = el(root, 'div', { class: 'ab', role: 'table', 'aria-label': 'Class probabilities' });
  let key = '';
  function draw({ names, strong }, probabilities, before) {
    table.replaceChildren();
    names.forEach((name, i) => {
      const row = el(table, 'div', { class: 'ab-row', role: 'row' });
      el(row, 'span', { class: 'ab-name', role: 'rowheader', title: name }, name);
      const track = el(row, 'span', { class: 'ab-track', role: 'presentation' });
      const bar = el(track, 'i', { class: i === strong ? 'ab-strong' : '' });
      bar.style.width = `${100 * probabilities[i]}%`;
      if (before) el(track, 'b').style.left = `${100 * before[i]}%`;
      el(row, 'span', { class: 'ab-value', role: 'cell' }, percent(probabilities[i]));
      if (before) {
        const change = 100 * (probabilities[i] - before[i]);
        const none = Math.abs(change) < 0.05;
        const text = none ? '0.0' : `${change > 0 ? '+' : '−'}${Math.abs(change).toFixed(1)}`;
        const tone = none ? 'vv-muted' : change < 0 ? 'ab-down' : 'ab-up';
        el(row, 'span', { class: `ab-value ${tone}`, role: 'cell' }, text);
      }
    });
  }
  onUnmount(
    listen('bars', root, (news) => {
      if (news.key !== key) return;
      draw(news, news.now, news.before);
      root.dataset.live = news.names.map((name, i) => `${name} ${news.now[i].toFixed(4)}`).join('; ');
    }),
  );
  return function update({ header, arrays }) {
    key = header.key;
    delete root.dataset.live;
    draw(header, arrays.now.data, arrays.before?.data);
  };
}
