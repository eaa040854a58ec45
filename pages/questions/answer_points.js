// The image of the class's question: select a patch before, see all answers as points after.

import { canvas, live } from '../../vitviz/browser/kit/dom.js';
import { gridNavigation, nameGrid } from '../../vitviz/browser/kit/grid.js';
import { photo } from '../../vitviz/browser/kit/photo.js';
import { blit } from '../../vitviz/browser/kit/pixels.js';

const WIDEST_PX = 320;
const HIGHEST = 0.28; // share of the screen: the button below stays in sight
const LEAST_LABEL_PX = 14;

const cellName = (index, cols) => `row ${Math.floor(index / cols) + 1}, column ${(index % cols) + 1}`;

/** Draw the lines between the patches. */
function drawLines(ctx, place, color) {
  const { rows, cols, side, width, height } = place;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let col = 1; col < cols; col++) {
    ctx.moveTo(Math.round(col * side) + 0.5, 0);
    ctx.lineTo(Math.round(col * side) + 0.5, height);
  }
  for (let row = 1; row < rows; row++) {
    ctx.moveTo(0, Math.round(row * side) + 0.5);
    ctx.lineTo(width, Math.round(row * side) + 0.5);
  }
  ctx.stroke();
}

/** Frame a patch, with a dark rim for contrast on any image. */
function drawFrame(ctx, place, index, color, inset) {
  if (index < 0) return;
  const x = (index % place.cols) * place.side + inset;
  const y = Math.floor(index / place.cols) * place.side + inset;
  const side = place.side - 2 * inset;
  for (const [style, width] of [
    ['#000', 5],
    [color, 3],
  ]) {
    ctx.strokeStyle = style;
    ctx.lineWidth = width;
    ctx.strokeRect(x, y, side, side);
  }
}

/** Draw a point in every chosen patch; its area is proportional to the number of answers. */
function drawPoints(ctx, place, counts, color) {
  const most = Math.max(1, ...counts);
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.font = `600 ${Math.max(12, Math.min(14, place.side / 2.5))}px sans-serif`;
  counts.forEach((count, index) => {
    if (!count) return;
    const x = ((index % place.cols) + 0.5) * place.side;
    const y = (Math.floor(index / place.cols) + 0.5) * place.side;
    ctx.beginPath();
    ctx.arc(x, y, Math.max(3, 0.44 * place.side * Math.sqrt(count / most)), 0, 2 * Math.PI);
    ctx.fillStyle = color;
    ctx.fill();
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 1.5;
    ctx.stroke();
    if (place.side < LEAST_LABEL_PX || most === 1) return;
    ctx.fillStyle = '#fff';
    ctx.fillText(String(count), x, y);
  });
}

function draw(map, message, place, bitmap, hovered) {
  const { header, arrays, colors } = message;
  const ctx = map.size(place.width, place.height);
  if (bitmap) blit(ctx, bitmap, 0, 0, place.width, place.height, bitmap.width > place.width);
  else {
    ctx.fillStyle = colors.panel;
    ctx.fillRect(0, 0, place.width, place.height);
  }
  drawLines(ctx, place, 'rgba(128, 128, 128, 0.55)');
  drawPoints(ctx, place, arrays.counts.data, '#0072b2');
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
    rows: () => place.rows,
    cols: () => place.cols,
    hover(index) {
      hovered = index;
      if (index >= 0) {
        const count = latest.arrays.counts.data[index];
        announce(cellName(index, place.cols) + (count === undefined ? '' : `: ${count}`));
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
