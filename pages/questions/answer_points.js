// The image of the class's question: select a patch before, see all answers as points after. If the page's own picture
// shows this image, the patch is selected, and the answers are drawn, there.

import { fill, lattice, outline, write } from '../../vitviz/browser/kit/axes.js';
import { canvas, el, live } from '../../vitviz/browser/kit/dom.js';
import { cellNamed, gridNavigation, nameGrid } from '../../vitviz/browser/kit/grid.js';
import { photo, blit } from '../../vitviz/browser/kit/pixels.js';
import { nameCell } from '../../vitviz/browser/kit/text.js';

const WIDEST_PX = 320;
const HIGHEST = 0.28; // share of the screen: the button below stays in sight
const LEAST_LABEL_PX = 14;
const STAGE = '.ax-stage'; // of the attention explorer
const LOOK_MS = 400;
const FIELD = 'Patch, such as 28, or 4, 4 (row, column)';

/** Frame a patch, with a dark rim for contrast on any image. */
function drawFrame(ctx, place, index, color, inset) {
  if (index < 0) return;
  const x = (index % place.cols) * place.side + inset;
  const y = Math.floor(index / place.cols) * place.side + inset;
  const side = place.side - 2 * inset;
  outline(ctx, '#000', 5, x, y, side, side);
  outline(ctx, color, 3, x, y, side, side);
}

/** Draw a point in every chosen patch; its area is proportional to the number of answers. */
function drawPoints(ctx, place, counts, colors) {
  const most = Math.max(1, ...counts);
  const style = `600 ${Math.max(12, Math.min(14, place.side / 2.5))}px`;
  counts.forEach((count, index) => {
    if (!count) return;
    const x = ((index % place.cols) + 0.5) * place.side;
    const y = (Math.floor(index / place.cols) + 0.5) * place.side;
    ctx.beginPath();
    ctx.arc(x, y, Math.max(3, 0.44 * place.side * Math.sqrt(count / most)), 0, 2 * Math.PI);
    ctx.fillStyle = '#0072b2';
    ctx.fill();
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 1.5;
    ctx.stroke();
    if (place.side < LEAST_LABEL_PX || most === 1) return;
    write(ctx, colors, String(count), x, y, { style, color: '#fff', align: 'center' });
  });
}

/** Draw marks on the page's own picture (`onPage`), or the image with its marks. */
function draw(map, message, place, bitmap, hovered, onPage) {
  const { header, arrays, colors } = message;
  const ctx = map.size(place.width, place.height);
  if (!onPage) {
    if (bitmap) blit(ctx, bitmap, 0, 0, place.width, place.height, bitmap.width > place.width);
    else fill(ctx, colors.panel, 0, 0, place.width, place.height);
    lattice(ctx, 'rgba(128, 128, 128, 0.55)', 1, place.rows, place.cols, place.width, place.height);
  }
  drawPoints(ctx, place, arrays.counts.data, colors);
  drawFrame(ctx, place, header.measured, colors.query, 2);
  drawFrame(ctx, place, header.own, '#fff', header.own === header.measured ? 6 : 2);
  if (header.takes) drawFrame(ctx, place, hovered, '#ffffffb0', 2);
}

/** Create a text field for a patch's number, or its row and column. */
function createField(root, place, pick) {
  const field = el(root, 'input', { class: 'cp-field', type: 'text', placeholder: FIELD, 'aria-label': FIELD });
  field.onchange = () => {
    const { rows, cols } = place();
    const cell = cellNamed(field.value, rows, cols);
    field.setCustomValidity(cell < 0 ? `Expected 1 to ${rows * cols}, or a row and a column` : '');
    if (cell < 0) field.reportValidity();
    else pick(cell);
  };
  return field;
}

function* findAll(node, selector) {
  for (const child of node.querySelectorAll('*')) {
    if (child.matches(selector)) yield child;
    if (child.shadowRoot) yield* findAll(child.shadowRoot, selector);
  }
}

/** Return the page's picture of patches, if it is large enough to be seen. */
const findStage = () =>
  [...findAll(document.querySelector('[data-testid="stMain"]'), STAGE)].find(({ clientWidth }) => clientWidth > 100);

export default class ClassPoints {
  constructor({ root, trigger, onUnmount }) {
    Object.assign(this, { root, trigger, latest: null, place: null, hovered: -1, stage: null });
    this.map = canvas(root, { class: 'class-votes' });
    this.field = createField(
      root,
      () => this.place,
      (cell) => trigger('pick', cell),
    );
    this.announce = live(root);
    this.image = photo(root);
    gridNavigation(this.map.node, {
      label: 'Image of the question',
      grid: () => [this.place.rows, this.place.cols],
      hover: (index) => this.hover(index),
      pick: (index) => this.latest.header.takes && trigger('pick', index),
    });
    for (const name of ['click', 'keydown'])
      // the page's picture pins what is clicked or entered
      this.map.node.addEventListener(name, (event) => event.stopPropagation());
    const timer = setInterval(() => this.latest && this.attach() && this.paint(), LOOK_MS);
    onUnmount(() => {
      clearInterval(timer);
      this.map.node.remove();
    });
  }

  hover(index) {
    this.hovered = index;
    if (index >= 0) {
      const count = this.latest.arrays.counts.data[index];
      this.announce(nameCell(index, this.place.cols) + (count === undefined ? '' : `: ${count}`));
    }
    this.paint();
  }

  /** Move the marks to the page's picture if it shows the question's image, else back; return true after a change. */
  attach() {
    const { header, width: room } = this.latest;
    const [rows, cols] = header.grid;
    const stage = (header.onPage && findStage()) || null;
    const width = stage ? stage.clientWidth : Math.min(room, WIDEST_PX, HIGHEST * innerHeight);
    const { node } = this.map;
    if (node.parentNode === (stage ?? this.root) && width === this.place?.width) return false;
    this.stage = stage;
    this.place = { rows, cols, side: width / cols, width, height: (width / cols) * rows };
    if (stage) stage.append(node);
    else this.root.prepend(node);
    Object.assign(node.style, stage ? { position: 'absolute', inset: '0', zIndex: '3' } : { position: '', zIndex: '' });
    return true;
  }

  paint() {
    const { map, latest, place, image, hovered, stage } = this;
    map.node.style.pointerEvents = stage && !latest.header.takes ? 'none' : '';
    draw(map, latest, place, latest.header.photo ? image.bitmap : null, hovered, Boolean(stage));
  }

  update(message) {
    this.latest = message;
    this.field.hidden = !message.header.takes;
    this.attach();
    nameGrid(this.map.node, message.header.words);
    this.paint();
    if (message.header.photo) this.image.show(message, () => this.paint());
  }
}
