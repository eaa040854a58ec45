// Show an opened part's tables, each with a CSV download.

import { button, el, save } from '../../vitviz/browser/kit/dom.js';
import { MINUS, brief } from '../../vitviz/browser/kit/text.js';

const number = (value) =>
  Number.isFinite(value)
    ? (Math.abs(value) >= 1 || value === 0 ? brief(value) : value.toPrecision(3)).replace('-', MINUS)
    : '–';

function csvOf({ columns, rows }, { data, shape }) {
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = [...(rows ? [''] : []), ...columns].map((text) => cell(String(text)));
  const lines = Array.from({ length: shape[0] }, (_, i) => [
    ...(rows ? [cell(String(rows[i]))] : []),
    ...data.subarray(i * shape[1], (i + 1) * shape[1]),
  ]);
  return [head, ...lines].map((line) => line.join(',')).join('\n') + '\n';
}

function tableOf(parent, table, array, say) {
  const box = el(parent, 'div', { class: 'mp-table' });
  const head = el(box, 'div', { class: 'mp-head' });
  el(head, 'b', {}, table.title);
  const download = () => {
    save(new Blob([csvOf(table, array)], { type: 'text/csv' }), table.file);
    say(`Downloaded ${table.file}`);
  };
  button(head, 'CSV', download, { 'aria-label': `Download ${table.title} as CSV` });
  const scroll = el(box, 'div', { class: 'mp-scroll', tabindex: '0', role: 'region', 'aria-label': table.title });
  const node = el(scroll, 'table');
  const first = el(el(node, 'thead'), 'tr');
  if (table.rows) el(first, 'td');
  for (const column of table.columns) el(first, 'th', { scope: 'col' }, String(column));
  const body = el(node, 'tbody');
  const [rows, columns] = array.shape;
  for (let i = 0; i < rows; i++) {
    const line = el(body, 'tr');
    if (table.rows) el(line, 'th', { scope: 'row' }, String(table.rows[i]));
    for (let k = 0; k < columns; k++) el(line, 'td', {}, number(array.data[i * columns + k]));
  }
}

export function buildTables(parent, { header, arrays }, say) {
  const box = el(parent, 'div', { class: 'mp-tables', tabindex: '-1' });
  for (const table of header.tables) tableOf(box, table, arrays[table.array], say);
}
