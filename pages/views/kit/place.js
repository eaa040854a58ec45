// A pin (normalised place, or a prefix token's name) and the cell of a grid that it names: the twin of
// vitviz/pin.py, which keeps three of a place's decimals.

const within = (value, count) => Math.max(0, Math.min(count - 1, Math.floor(value * count)));

/** The cell of a (rows, cols) grid under a place [x, y] in [0, 1]; the edges belong to the picture. */
export function cellAt([rows, cols], [x, y]) {
  return within(y, rows) * cols + within(x, cols);
}

/** The centre [x, y] of a cell, in [0, 1]. */
export function centreOf([rows, cols], cell) {
  return [((cell % cols) + 0.5) / cols, (Math.floor(cell / cols) + 0.5) / rows];
}

/** The pin of a cell as a link writes it, 'x,y' with four decimals. */
export function pinOf(grid, cell) {
  return centreOf(grid, cell)
    .map((v) => v.toFixed(4))
    .join(',');
}

/** The token of a sequence that a pin names: 'x,y' in [0, 1] or a prefix token's name; -1 for neither. */
export function tokenOfPin({ prefix, grid }, pin) {
  const named = prefix.indexOf(pin);
  if (named >= 0) return named;
  const place = pin.split(',').map(Number);
  if (place.length !== 2 || !place.every(Number.isFinite)) return -1;
  return prefix.length + cellAt(grid, place);
}

/** Puts an element over one cell of a grid, in percent of what it lies on; hides it for -1. */
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
