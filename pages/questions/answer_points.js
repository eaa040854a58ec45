// The image of the class's question: select a patch before, see all answers as points after.

import { fill, lattice, outline, write } from '../../vitviz/browser/kit/axes.js';
import { canvas, live } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameGrid } from '../../vitviz/browser/kit/grid.js';
import { photo, blit } from '../../vitviz/browser/kit/pixels.js';
import { nameCell } from '../../vitviz/browser/kit/text.js';

const WIDEST_PX = 320;
const HIGHEST = 0.28; // share of the screen: the button below stays in sight
const LEAST_LABEL_PX = 14;

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

function draw(map, message, place, bitmap, hovered) {
  const { header, arrays, colors } = message;
  const ctx = map.size(place.width, place.height);
  if (bitmap) blit(ctx, bitmap, 0, 0, place.width, place.height, bitmap.width > place.width);
  else fill(ctx, colors.panel, 0, 0, place.width, place.height);
  lattice(ctx, 'rgba(128, 128, 128, 0.55)', 1, place.rows, place.cols, place.width, place.height);
  drawPoints(ctx, place, arrays.counts.data, colors);
  drawFrame(ctx, place, header.measured, colors.query, 2);
  drawFrame(ctx, place, header.own, '#fff', header.own === header.measured ? 6 : 2);
  if (header.takes) drawFrame(ctx, place, hovered, '#ffffffb0', 2);
}

export default function classPoints({ root, trigger }) {
  const map = canvas(root);
  const announce = live(root);
  const image = photo(root);
  let latest = null;
  let place = null;
  let hovered = -1;
  const paint = () => draw(map, latest, place, latest.header.photo ? image.bitmap : null, hovered);
  gridNavigation(map.node, {
    label: 'Image of the question',
    grid: () => [place.rows, place.cols],
    hover(index) {
      hovered = index;
      if (index >= 0) {
        const count = latest.arrays.counts.data[index];
        announce(nameCell(index, place.cols) + (count === undefined ? '' : `: ${count}`));
      }
      paint();
    },
    pick(index) {
      if (latest.header.takes) trigger('pick', index);
    },
  });
  return (message) => {
    latest = message;
    const [rows, cols] = latest.header.grid;
    const width = Math.min(latest.width, WIDEST_PX, HIGHEST * innerHeight);
    const side = width / cols;
    place = { rows, cols, side, width, height: side * rows };
    nameGrid(map.node, latest.header.words);
    paint();
    if (latest.header.photo) image.show(latest, paint);
  };
}
