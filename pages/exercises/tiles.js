// Draw the exercises as tiles: number, title, what is written, and a check where the user has solved it.

import { button, el } from '../../vitviz/browser/kit/dom.js';

export default function tiles({ root, trigger }) {
  const list = el(root, 'ol', { class: 'et', 'aria-label': 'Exercises' });
  return ({ header }) => {
    list.replaceChildren();
    header.exercises.forEach(([slug, title, isDone], index) => {
      const current = slug === header.selected ? { 'aria-current': 'true' } : {};
      const node = button(el(list, 'li'), '', () => trigger('open', slug), current);
      el(node, 'span', { class: 'vv-muted' }, isDone ? `✓ ${index + 1} solved` : `${index + 1}`);
      el(node, 'span', {}, title);
    });
  };
}
