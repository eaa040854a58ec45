// Draw a lesson's stops as thumbnails: a click selects one, dragging it or Alt with an arrow key moves it.

import { button, el } from '../../vitviz/browser/kit/dom.js';

export default function storyboard({ root, trigger }) {
  const board = el(root, 'ol', { class: 'sb', 'aria-label': 'Stops of my lesson' });
  let dragged = -1;

  function thumbnail([title, page, slug], index, header) {
    const item = el(board, 'li', { draggable: 'true' });
    const node = button(item, '', () => trigger('pick', index), {
      'aria-keyshortcuts': 'Alt+ArrowLeft Alt+ArrowRight',
      ...(index === header.selected ? { 'aria-current': 'true' } : {}),
    });
    const file = slug === 'home' ? 'patches' : slug;
    el(node, 'img', { src: `app/static/cards/${file}.svg`, alt: '', draggable: 'false' });
    el(node, 'span', {}, `${index + 1}. ${title}`);
    el(node, 'span', { class: 'vv-muted' }, page);
    const move = (to) => to >= 0 && to < header.stops.length && to !== index && trigger('move', [index, to]);
    node.onkeydown = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!event.altKey || !step) return;
      event.preventDefault();
      move(index + step);
    };
    item.ondragstart = () => (dragged = index);
    item.ondragover = (event) => {
      event.preventDefault(); // this is a place to drop
      item.classList.add('sb-over');
    };
    item.ondragleave = () => item.classList.remove('sb-over');
    item.ondrop = (event) => {
      event.preventDefault();
      item.classList.remove('sb-over');
      if (dragged >= 0 && dragged !== index) trigger('move', [dragged, index]);
      dragged = -1;
    };
  }

  return ({ header }) => {
    board.replaceChildren();
    header.stops.forEach((stop, index) => thumbnail(stop, index, header));
  };
}
