// What the components can express: mean patch + sum of the first k coefficients times components, for every patch, in the
// browser. Moving k adds or takes away only the components between the old and the new k.

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { PALETTE } from '../../views/kit/palette.js';
import { blit, offscreen, picture } from '../../views/kit/pixels.js';

const CURVE = 190,
  FLAT = 40;
const COLORS = [(c) => c.query, (c) => c.primary, () => PALETTE.HEADS[2]];

export default function rebuildView({ root }) {
  const say = live(root);
  const bar = el(root, 'label', { class: 'fr-k' });
  const label = el(bar, 'span');
  const slider = el(bar, 'input', { type: 'range', min: '0', step: '1', 'aria-label': 'Number of components k' });
  const row = el(root, 'div', { class: 'fr-row' });
  const original = box('The picture'),
    boxes = [];
  const curve = canvas(root, { class: 'fr-curve', role: 'img' });
  let now = null,
    k = 0,
    patch = 0,
    done = [],
    images = [],
    seen = null;

  function box(title) {
    const node = el(row, 'div');
    const self = {
      node,
      title: el(node, 'div', { class: 'fr-title' }, title),
      note: el(node, 'div', { class: 'fr-note' }),
      map: canvas(node, { class: 'fr-map' }),
      error: el(node, 'div', { class: 'fr-error' }),
    };
    const line = el(node, 'div', { class: 'fr-patch vv-muted' });
    self.patch = canvas(line, { role: 'img' });
    self.patchNote = el(line, 'span');
    gridNavigation(self.map.node, {
      label: `${title}: patches`,
      rows: () => side(),
      cols: () => side(),
      hover(i, event) {
        if (i < 0) return;
        patch = i;
        drawAll();
        if (event?.type === 'keydown') say(`patch ${i}: ${boxes.map((b) => b.patchNote.textContent).join(', ')}`);
      },
    });
    return self;
  }
  const side = () => now.arrays.shown.shape[0] / now.header.patch;
  const channels = () => now.header.scale.length;
  const most = (b) => now.arrays[`basis${b}`].shape[0];
  const used = (b) => Math.min(k, most(b));

  /** Brings basis b's accumulated values (N x C P P) from the k they have to the k wanted. */
  function bring(b) {
    const {
        data: basis,
        shape: [, size],
      } = now.arrays[`basis${b}`],
      {
        data: coefficients,
        shape: [n, stride],
      } = now.arrays[`coefficients${b}`];
    let state = done[b];
    if (!state) {
      const values = new Float32Array(n * size);
      for (let i = 0; i < n; i++) values.set(now.arrays.mean.data, i * size);
      state = done[b] = { k: 0, values };
    }
    while (state.k !== used(b)) {
      const up = used(b) > state.k,
        c = up ? state.k : state.k - 1,
        sign = up ? 1 : -1,
        from = c * size;
      for (let i = 0; i < n; i++) {
        const a = sign * coefficients[i * stride + c],
          at = i * size;
        for (let j = 0; j < size; j++) state.values[at + j] += a * basis[from + j];
      }
      state.k += sign;
    }
    return state.values;
  }

  const level = (v, c) => Math.max(0, Math.min(255, 255 * (v * now.header.scale[c] + now.header.shift[c])));

  function imageOf(b) {
    const values = bring(b),
      P = now.header.patch,
      S = now.arrays.shown.shape[0],
      C = channels(),
      g = side(),
      image = new ImageData(S, S);
    for (let n = 0; n < g * g; n++) {
      const top = Math.floor(n / g) * P,
        leftEdge = (n % g) * P,
        at = n * C * P * P;
      for (let y = 0; y < P; y++)
        for (let x = 0; x < P; x++) {
          const pixel = 4 * ((top + y) * S + leftEdge + x);
          for (let c = 0; c < 3; c++) {
            const from = C > 1 ? c : 0;
            image.data[pixel + c] = level(values[at + (from * P + y) * P + x], from);
          }
          image.data[pixel + 3] = 255;
        }
    }
    return offscreen(image);
  }

  function patchError(b) {
    const values = done[b].values,
      P = now.header.patch,
      C = channels(),
      g = side(),
      {
        data,
        shape: [S],
      } = now.arrays.shown,
      at = patch * C * P * P;
    let sum = 0;
    for (let c = 0; c < C; c++)
      for (let y = 0; y < P; y++)
        for (let x = 0; x < P; x++) {
          const truth = data[3 * ((Math.floor(patch / g) * P + y) * S + (patch % g) * P + x) + c];
          sum += (255 * (values[at + (c * P + y) * P + x] * now.header.scale[c] + now.header.shift[c]) - truth) ** 2;
        }
    return Math.sqrt(sum / (C * P * P));
  }

  function drawBox(self, image) {
    const size = self.size,
      ctx = self.map.size(size, size),
      g = side(),
      w = size / g,
      { colors } = now;
    blit(ctx, image, 0, 0, size, size, image.width > size);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2;
    ctx.strokeRect((patch % g) * w + 1, Math.floor(patch / g) * w + 1, w - 2, w - 2);
    const P = now.header.patch,
      p = self.patch.size(56, 56);
    p.imageSmoothingEnabled = false;
    self.patch.node.setAttribute('aria-label', `Patch ${patch}, enlarged`);
    p.drawImage(image, (patch % g) * P, Math.floor(patch / g) * P, P, P, 0, 0, 56, 56);
  }

  function drawCurve() {
    const { colors, header } = now,
      width = now.width,
      ctx = curve.size(width, CURVE),
      left = FLAT,
      right = 150,
      bottom = 34,
      top = 8;
    const high = Math.max(...header.bases.map((_, b) => now.arrays[`error${b}`].data[0])) * 1.02;
    const x = (i) => left + (i / header.most) * (width - left - right),
      y = (v) => CURVE - bottom - (v / high) * (CURVE - bottom - top);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.strokeStyle = colors.line;
    ctx.lineWidth = 1;
    ctx.textBaseline = 'middle';
    const unit = 10 ** Math.floor(Math.log10(high)),
      step = high / unit > 5 ? 2 * unit : high / unit > 2 ? unit : unit / 2;
    ctx.textAlign = 'right';
    for (let v = 0; v <= high; v += step) {
      ctx.fillText(String(Math.round(v * 10) / 10), left - 6, y(v));
      ctx.beginPath();
      ctx.moveTo(left, y(v));
      ctx.lineTo(width - right, y(v));
      ctx.stroke();
    }
    ctx.textAlign = 'center';
    ctx.textBaseline = 'top';
    const tick = Math.max(1, Math.ceil(header.most / 8));
    for (let i = 0; i <= header.most; i += tick) ctx.fillText(i, x(i), CURVE - bottom + 4);
    ctx.fillText('components k', left + (width - left - right) / 2, CURVE - 14);
    ctx.strokeStyle = colors.muted;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(x(k), top);
    ctx.lineTo(x(k), CURVE - bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    const ends = [];
    header.bases.forEach((basis, b) => {
      const { data } = now.arrays[`error${b}`],
        color = COLORS[b](colors);
      ctx.strokeStyle = ctx.fillStyle = color;
      ctx.lineWidth = 2.5;
      ctx.beginPath();
      data.forEach((v, i) => ctx[i ? 'lineTo' : 'moveTo'](x(i), y(v)));
      if (data.length - 1 < header.most) ctx.lineTo(x(header.most), y(data[data.length - 1]));
      ctx.stroke();
      ctx.beginPath();
      ctx.arc(x(k), y(data[used(b)]), 4.5, 0, 7);
      ctx.fill();
      ends.push({ at: y(data[used(b)]), color, text: `${basis.title} ${data[used(b)].toFixed(1)}` });
    });
    // Labels beside the plot, in the order of the values at k, never on top of one another.
    ends.sort((a, b) => a.at - b.at);
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    let free = top + 6;
    for (const end of ends) {
      const at = Math.max(free, Math.min(end.at, CURVE - bottom - 18 * (ends.length - 1 - ends.indexOf(end))));
      free = at + 18;
      ctx.fillStyle = end.color;
      ctx.fillText('●', width - right + 8, at);
      ctx.fillStyle = colors.ink;
      ctx.fillText(end.text, width - right + 22, at);
    }
    curve.node.setAttribute(
      'aria-label',
      `Error against the number of components. ${ends.map((e) => e.text).join(', ')} grey levels at k = ${k}`,
    );
  }

  function drawAll() {
    const { header } = now;
    slider.max = String(header.most);
    slider.value = String(k);
    label.textContent = `k = ${k} of ${header.most} components`;
    drawBox(original, seen);
    original.patchNote.textContent = `patch (${Math.floor(patch / side())}, ${patch % side()})`;
    header.bases.forEach((basis, b) => {
      const self = boxes[b];
      if (images[b]?.k !== used(b)) images[b] = { k: used(b), image: imageOf(b) };
      drawBox(self, images[b].image);
      self.title.textContent = basis.title;
      self.note.textContent = most(b) < k ? `has only ${most(b)} components` : basis.note;
      self.error.textContent = `error ${now.arrays[`error${b}`].data[used(b)].toFixed(1)} levels`;
      self.patchNote.textContent = `this patch ${patchError(b).toFixed(1)}`;
    });
    drawCurve();
  }

  slider.oninput = () => {
    k = Number(slider.value);
    drawAll();
  };
  const drag = (event) => {
    if (event.buttons !== 1 && event.type !== 'pointerdown') return;
    const x = event.clientX - curve.node.getBoundingClientRect().left;
    k = Math.max(0, Math.min(now.header.most, Math.round(((x - FLAT) / (now.width - FLAT - 150)) * now.header.most)));
    drawAll();
  };
  curve.node.onpointerdown = drag;
  curve.node.onpointermove = drag;

  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const count = now.header.bases.length;
    if (fresh) {
      done = [];
      images = [];
      seen = picture(now.arrays.shown);
      k = now.header.k;
      patch = now.header.pin;
      original.note.textContent = `${now.arrays.shown.shape[0]} px, patches of ${now.header.patch} px`;
      while (boxes.length < count) boxes.push(box(now.header.bases[boxes.length].title));
      boxes.forEach((self, b) => {
        self.node.style.display = b < count ? '' : 'none';
      });
    }
    const across = now.width >= 720 ? count + 1 : 2,
      size = Math.min(280, Math.floor((now.width - 24 * (across - 1)) / across));
    for (const self of [original, ...boxes]) {
      self.size = size;
      self.node.style.width = `${size}px`;
    }
    drawAll();
  };
}
