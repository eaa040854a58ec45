// Encode, move and misplace parts, as vitviz/analysis/image_parts.py does.

const FIELDS = ['left', 'top', 'width', 'height', 'x', 'y'];

export const fromNumbers = (numbers) => Object.fromEntries(FIELDS.map((name, i) => [name, numbers[i]]));

export const atHome = ({ left, top, x, y }) => left === x && top === y;

/** Returns the text of a link: six characters per part; sides count from 1. */
export const encode = (parts, signs) =>
  parts.flatMap((part) => FIELDS.map((name, i) => signs[part[name] - (i === 2 || i === 3 ? 1 : 0)])).join('');

export const within = (at, side, size) => Math.max(0, Math.min(size - side, at));

/** Returns a part moved to (x, y), clipped to the image. */
export const moved = (part, x, y, size) => ({
  ...part,
  x: within(x, part.width, size),
  y: within(y, part.height, size),
});

export const whole = (parts) => parts.map((part) => ({ ...part, x: part.left, y: part.top }));

/** Returns every part centred on another part's place; a single part is mirrored at the image's centre. */
export function putWrong(parts, size) {
  const by = Math.floor(parts.length / 2);
  return parts.map((part, i) => {
    const other = parts[(i + by) % parts.length];
    const x = by ? other.left + ((other.width - part.width) >> 1) : size - part.width - part.left;
    const y = by ? other.top + ((other.height - part.height) >> 1) : size - part.height - part.top;
    return moved(part, x, y, size);
  });
}
