// The puzzle: patches glide to where the shuffle puts them; probabilities before and after as bars.
// header: {patch, cols, bars: [{title, note, rows: [[name, before, after], ...]}]}; arrays: shown, order (N) int32

import { canvas, el } from '../../views/kit/dom.js';
import { animate } from '../../views/kit/motion.js';
import { picture } from '../../views/kit/pixels.js';

export default function patchesPuzzle({ root }) {
  let now = null,
    image = null,
    side = 0,
    stop = () => {},
    places = [],
    from = [];
  const pair = el(root, 'div', { class: 'pt-pair' }),
    figure = el(pair, 'figure'),
    map = canvas(figure, { role: 'img' });
  const bars = [];
  const percent = (p) => `${(100 * p).toFixed(p >= 0.0995 ? 1 : 2)} %`;

  function draw(t) {
    const { patch: P, cols } = now.header,
      rows = places.length / cols,
      cell = side / Math.max(rows, cols);
    const ctx = map.size(side, side);
    ctx.imageSmoothingEnabled = false;
    places.forEach((place, patch) => {
      const x0 = from[patch] % cols,
        y0 = Math.floor(from[patch] / cols),
        x1 = place % cols,
        y1 = Math.floor(place / cols);
      const x = (x0 + (x1 - x0) * t) * cell,
        y = (y0 + (y1 - y0) * t) * cell;
      ctx.drawImage(image, (patch % cols) * P, Math.floor(patch / cols) * P, P, P, x, y, cell + 0.5, cell + 0.5);
    });
  }
  function drawBars(part, { title, note, rows }, width, most) {
    part.title.textContent = title;
    part.note.textContent = note;
    const ctx = part.view.size(width, rows.length * 44),
      { colors } = now,
      name = Math.min(110, width * 0.32),
      room = width - name - 72;
    ctx.textBaseline = 'middle';
    rows.forEach(([label, before, after], i) => {
      const y = i * 44 + 4;
      ctx.font = `14px ${colors.font}`;
      ctx.textAlign = 'left';
      ctx.fillStyle = colors.ink;
      ctx.fillText(fit(ctx, label, name - 8), 0, y + 16);
      for (const [k, p, colour] of [
        [0, before, colors.muted],
        [1, after, colors.query],
      ]) {
        ctx.fillStyle = colour;
        ctx.fillRect(name, y + k * 16 + 2, Math.max(2, (room * p) / most), 12);
        ctx.fillStyle = k ? colors.ink : colors.muted;
        ctx.fillText(percent(p), name + Math.max(2, (room * p) / most) + 6, y + k * 16 + 9);
      }
    });
    part.view.node.setAttribute(
      'aria-label',
      rows.map(([l, b, a]) => `${l}: in order ${percent(b)}, shuffled ${percent(a)}`).join('; '),
    );
  }
  function fit(ctx, text, width) {
    if (ctx.measureText(text).width <= width) return text;
    let cut = text;
    while (cut.length > 1 && ctx.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
    return `${cut}…`;
  }
  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const { header, arrays, width } = now,
      wide = width >= 720,
      order = arrays.order.data,
      count = header.bars.length;
    side = wide ? (count > 2 ? 224 : 280) : Math.min(320, width);
    if (fresh) {
      image = picture(arrays.shown);
      const next = new Array(order.length);
      order.forEach((patch, place) => {
        next[patch] = place;
      });
      from = places.length === next.length ? places : next.map((_, i) => i);
      places = next;
    }
    stop();
    if (fresh)
      stop = animate(450, draw, () => {
        from = places;
      });
    else draw(1);
    const moved = places.filter((place, patch) => place !== patch).length;
    map.node.setAttribute('aria-label', `The picture with ${moved} of ${places.length} patches moved`);
    while (bars.length < count) {
      const box = el(pair, 'div', { class: 'pt-bars' });
      bars.push({
        box,
        title: el(box, 'div', { class: 'pt-strong' }),
        note: el(box, 'div', { class: 'vv-muted' }),
        view: canvas(box, { role: 'img' }),
      });
    }
    const least = count > 2 ? 200 : 264,
      room = width - side - 24 * count;
    const columns = room >= count * least ? room / count : wide ? width - side - 24 : width;
    // One scale for every bar, so that models can be compared; a thousand classes would vanish on a scale to 100 %.
    const most = Math.max(...header.bars.flatMap(({ rows }) => rows.flatMap(([, before, after]) => [before, after])));
    bars.forEach((part, i) => {
      part.box.hidden = i >= count;
      part.box.style.minWidth = `${Math.min(least, width)}px`;
      if (!part.box.hidden) drawBars(part, header.bars[i], Math.floor(columns), most);
    });
  };
}
