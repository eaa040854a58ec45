// Convert between pins (normalised [x, y] or a prefix token's name) and grid cells, as vitviz/pin.py does with three
// decimals.

const within = (value, count) => Math.max(0, Math.min(count - 1, Math.floor(value * count)));

/** Return the cell of a (rows, cols) grid at [x, y] in [0, 1], edges included. */
export function cellAt([rows, cols], [x, y]) {
  return within(y, rows) * cols + within(x, cols);
}

/** Return the centre [x, y] of a cell, in [0, 1]. */
export function centreOf([rows, cols], cell) {
  return [((cell % cols) + 0.5) / cols, (Math.floor(cell / cols) + 0.5) / rows];
}

/** Return the pin of a cell as in permalinks: 'x,y' with four decimals. */
export function pinOf(grid, cell) {
  return centreOf(grid, cell)
    .map((v) => v.toFixed(4))
    .join(',');
}

/** Return the place [x, y] of a pin 'x,y'; null for a name. */
export function placeOf(pin) {
  const place = pin.split(',').map(Number);
  return place.length === 2 && place.every(Number.isFinite) ? place : null;
}

/** Return the token of a pin ('x,y' in [0, 1] or a prefix token's name); -1 if it is neither. */
export function tokenOfPin({ prefix, grid }, pin) {
  const place = placeOf(pin);
  return place ? prefix.length + cellAt(grid, place) : prefix.indexOf(pin);
}

/** Position an element over one cell of a grid; hide it for -1. */
export function mark(node, [rows, cols], cell) {
  node.hidden = cell < 0;
  if (cell < 0) return;
  Object.assign(node.style, {
    left: `${(100 * (cell % cols)) / cols}%`,
    top: `${(100 * Math.floor(cell / cols)) / rows}%`,
    width: `${100 / cols}%`,
    height: `${100 / rows}%`,
  });
}
