// Convert between tokens and boxes [x, y, w, h] of a part's tile, in the pixels of the tile's band.

export const apart = (side, cols) => Math.max(1.5, Math.min(6, (side / cols) * 0.16));

const TOKENS = new Set(['picture', 'patches', 'prefix', 'positions', 'block', 'merge']);

export const showsTokens = (part) => TOKENS.has(part.kind);

function prefixCell(part, { tile, lift }, token) {
  const side = lift - 3;
  return [tile.x + token * (side + 2), tile.y - lift, side, side];
}

/** Return the box of a token in a part's tile; null if it is not shown. */
export function rectOf(model, part, box, pin) {
  if (part.kind === 'prefix') return rowRect(model, box, pin);
  if (!showsTokens(part)) return null;
  const grid = part.grid ?? model.header.grid;
  const prefix = part.kind === 'block' || part.kind === 'positions' ? (part.prefix ?? []) : [];
  const token = model.tokenAt({ grid, prefix }, pin);
  if (token < 0) return null;
  if (token < prefix.length) return part.kind === 'block' ? prefixCell(part, box, token) : null;
  const [rows, cols] = grid;
  const cell = token - prefix.length;
  const { x, y, w, h } = box.tile;
  const gap = part.kind === 'patches' ? apart(w, cols) : 0;
  const [cw, ch] = [(w + gap) / cols, (h + gap) / rows];
  return [x + (cell % cols) * cw, y + Math.floor(cell / cols) * ch, cw - gap, ch - gap];
}

/** Return the boxes of a position in a part's four maps. */
export function mapRects(model, part, { tile }, pin) {
  const cell = model.tokenAt({ grid: part.grid, prefix: [] }, pin);
  if (cell < 0) return [];
  const [rows, cols] = part.grid;
  const gap = 3;
  const [w, h] = [(tile.w - gap) / 2, (tile.h - gap) / 2];
  return [0, 1, 2, 3].map((i) => [
    tile.x + (i % 2) * (w + gap) + ((cell % cols) * w) / cols,
    tile.y + Math.floor(i / 2) * (h + gap) + (Math.floor(cell / cols) * h) / rows,
    w / cols,
    h / rows,
  ]);
}

/** Return the pin of the token at (x, y) of a tile's band; null for none. */
export function pinAt(model, part, box, x, y) {
  if (part.kind === 'prefix') return rowAt(model, box, y);
  const { tile, lift = 0 } = box;
  const prefix = part.kind === 'block' ? (part.prefix ?? []) : [];
  if (lift && y < tile.y) {
    const token = Math.floor((x - tile.x) / (lift - 1));
    return prefix[token] ?? null;
  }
  const grid = part.grid ?? model.header.grid;
  const col = Math.floor(((x - tile.x) / tile.w) * grid[1]);
  const row = Math.floor(((y - tile.y) / tile.h) * grid[0]);
  if (col < 0 || row < 0 || col >= grid[1] || row >= grid[0]) return null;
  return model.pinOf({ grid, prefix: [] }, row * grid[1] + col);
}

// ------------------------------------------------------------ a sequence as a list of rows

/** Return the rows of a sequence's tile: [{pin | null, y, h}] from the top. */
export function sequenceLines(model, { tile }) {
  const rows = model.sequenceRows();
  const gaps = rows.filter((row) => row === null).length;
  const h = Math.min(26, tile.h / (rows.length - gaps * 0.45));
  let y = tile.y + (tile.h - h * (rows.length - gaps * 0.45)) / 2;
  return rows.map((row) => {
    const line = { pin: row, y, h: row === null ? h * 0.55 : h };
    y += line.h;
    return line;
  });
}

function rowRect(model, box, pin) {
  const token = model.tokenAt(model.header, pin);
  const line = sequenceLines(model, box).find((row) => row.pin && model.tokenAt(model.header, row.pin) === token);
  return line ? [box.tile.x, line.y + 1, box.tile.w, line.h - 2] : null;
}

function rowAt(model, box, y) {
  return sequenceLines(model, box).find((line) => y >= line.y && y < line.y + line.h)?.pin ?? null;
}

export const centre = ([x, y, w, h]) => [x + w / 2, y + h / 2];
