// The attention explorer: the patch under the pointer is the query. What travels once is the chosen layer with all
// heads and, from explorer_strip.js, the chosen head with all layers (eight bits a weight); every hover after that is
// drawn here.
// How it is viewed (pin, direction, scale, ...) comes from explorer_options.js, so that no weight travels for it.

import { listen, recall, tell } from './kit/bus.js';
import { el, live } from './kit/dom.js';
import { gridNavigation } from './kit/grid.js';
import { picture } from './kit/pixels.js';
import { SEQUENTIAL_LUT, accentLut, headColor, rgb } from './kit/ramp.js';

const SQUARES = Float32Array.from({ length: 256 }, (_, code) => (code / 255) ** 2);
const DEFAULT_VIEW = {
  pin: null,
  direction: 'row',
  scale: 'shared',
  style: 'overlay',
  share: 0.6,
  opacity: 0.9,
  smooth: false,
  grid: true,
};

/** One stack of maps: n x tokens x slots codes, row maxima, and (for windows) which token sits in which slot. */
function stack(arrays, tokens, prefix = '') {
  const codes = arrays[`${prefix}codes`],
    maxima = arrays[`${prefix}max`].data,
    slots = codes.shape[2];
  const windows = arrays[`${prefix}slots`]?.data,
    windowOf = arrays[`${prefix}window_of`]?.data,
    slotOf = arrays[`${prefix}slot_of`]?.data;
  const perBlock = windows ? windows.length / arrays[`${prefix}slots`].shape[0] : 0;
  const shared = windows && arrays[`${prefix}slots`].shape[0] === 1;
  /** Weights of map i for one query (row) or onto one key (column), all tokens; `seen` marks the window's tokens. */
  function read(i, token, direction, out, seen) {
    out.fill(0);
    const base = i * tokens;
    if (!windows) {
      seen?.fill(1);
      if (direction === 'row') {
        const from = (base + token) * slots,
          max = maxima[base + token];
        for (let k = 0; k < tokens; k++) out[k] = SQUARES[codes.data[from + k]] * max;
      } else {
        for (let q = 0; q < tokens; q++) out[q] = SQUARES[codes.data[(base + q) * slots + token]] * maxima[base + q];
      }
      return out;
    }
    seen?.fill(0);
    const block = shared ? 0 : i,
      window = windowOf[block * tokens + token],
      mine = slotOf[block * tokens + token];
    for (let s = 0; s < slots; s++) {
      const other = windows[block * perBlock + window * slots + s];
      if (other < 0) continue;
      if (seen) seen[other] = 1;
      out[other] =
        direction === 'row'
          ? SQUARES[codes.data[(base + token) * slots + s]] * maxima[base + token]
          : SQUARES[codes.data[(base + other) * slots + mine]] * maxima[base + other];
    }
    return out;
  }
  return { count: codes.shape[0], read };
}

function fuse(maps, how, out) {
  out.fill(how === 'min' ? Infinity : 0);
  for (const map of maps)
    for (let k = 0; k < out.length; k++)
      out[k] =
        how === 'mean'
          ? out[k] + map[k] / maps.length
          : how === 'max'
            ? Math.max(out[k], map[k])
            : Math.min(out[k], map[k]);
  return out;
}

/** A small map with its label; a click brings it onto the stage. */
function thumbnail(parent, label, color, pick) {
  const button = el(parent, 'button', { class: 'ax-thumb', type: 'button', title: label });
  const frame = el(button, 'span', { class: 'ax-frame' });
  const node = el(frame, 'canvas', { class: 'ax-cells', 'aria-hidden': 'true' });
  const caption = el(button, 'span', { class: 'ax-label' }, label);
  if (color) caption.style.setProperty('--ax-head', color);
  button.onclick = pick;
  return { button, frame, node };
}

const percent = (value) => `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
const weight = (value) => (value >= 0.01 ? value.toFixed(3) : value === 0 ? '0' : value.toExponential(1));
const TOKEN_NAMES = { cls: '[CLS]', dist: '[DIST]' };
const tokenName = (name) => TOKEN_NAMES[name] ?? `[${name.toUpperCase()}]`;

export default function explorer({ root, trigger, onUnmount }) {
  const page = el(root, 'div', { class: 'ax' });
  const left = el(page, 'div', { class: 'ax-left' }),
    right = el(page, 'div', { class: 'ax-right' });
  const tokens = el(left, 'div', {
    class: 'vv-row ax-tokens',
    role: 'group',
    'aria-label': 'Tokens that are no patches',
  });
  const stage = el(left, 'div', { class: 'ax-stage' });
  const base = el(stage, 'canvas', { class: 'ax-base', 'aria-hidden': 'true' });
  const veil = el(stage, 'canvas', { class: 'ax-cells', 'aria-hidden': 'true' });
  const lines = el(stage, 'div', { class: 'ax-lines' });
  const pinned = el(stage, 'div', { class: 'ax-pin' }),
    marker = el(stage, 'div', { class: 'ax-query' });
  const legend = el(left, 'div', { class: 'ax-legend' });
  el(legend, 'span', { class: 'vv-muted' }, 'weight 0');
  const bar = el(legend, 'canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
  const high = el(legend, 'span', { class: 'vv-muted' });
  const inspector = el(right, 'div', { class: 'ax-inspector' });
  const named = el(inspector, 'div', { class: 'ax-name' });
  el(named, 'i');
  el(named, 'span');
  const subtitle = el(inspector, 'div', { class: 'vv-muted' }),
    facts = el(inspector, 'table');
  const formula = el(inspector, 'div', { class: 'vv-mono ax-formula' });
  const headsHead = el(right, 'div', { class: 'ax-title' }),
    headsTitle = el(headsHead, 'span'),
    headsScale = el(headsHead, 'small');
  const headsBox = el(right, 'div', { class: 'ax-thumbs ax-heads' });
  const layersHead = el(page, 'div', { class: 'ax-title ax-wide' }),
    layersTitle = el(layersHead, 'span'),
    layersScale = el(layersHead, 'small');
  const layersBox = el(page, 'div', { class: 'ax-thumbs ax-wide ax-layers' });
  const say = live(root);

  let model = null,
    options = DEFAULT_VIEW,
    hover = null,
    pending = 0,
    built = '',
    shown = null;

  // ------------------------------------------------------------ the query

  const tokenOf = (query) => {
    if (!model) return 0;
    const {
      prefix,
      grid: [rows, cols],
    } = model.header;
    if (query) {
      const named = prefix.indexOf(query);
      if (named >= 0) return named;
      const [x, y] = query.split(',').map(Number);
      if (Number.isFinite(x) && Number.isFinite(y)) {
        const place = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v * n)));
        return prefix.length + place(y, rows) * cols + place(x, cols);
      }
    }
    return prefix.length && prefix[0] === 'cls'
      ? 0
      : prefix.length + Math.floor(rows / 2) * cols + Math.floor(cols / 2);
  };
  const placeOf = (token) => {
    const {
        prefix,
        grid: [rows, cols],
      } = model.header,
      patch = token - prefix.length;
    if (patch < 0) return prefix[token];
    return `${(((patch % cols) + 0.5) / cols).toFixed(4)},${((Math.floor(patch / cols) + 0.5) / rows).toFixed(4)}`;
  };
  const nameOf = (token) => {
    const {
        prefix,
        grid: [, cols],
      } = model.header,
      patch = token - prefix.length;
    return patch < 0
      ? tokenName(prefix[token])
      : `patch ${patch + 1} (row ${Math.floor(patch / cols) + 1}, column ${(patch % cols) + 1})`;
  };

  function look(query, event) {
    hover = query;
    schedule();
    tell('hover', root, { group: model?.header.group, query });
    if (event?.type === 'keydown') say(spoken());
  }
  function pin(token) {
    const place = placeOf(token);
    options = { ...options, pin: place };
    schedule();
    trigger('pin', place);
  }
  const patches = gridNavigation(stage, {
    label: 'Picture cut into patches: the patch under the pointer is the query',
    rows: () => model?.header.grid[0] ?? 1,
    cols: () => model?.header.grid[1] ?? 1,
    hover: (index, event) => look(index < 0 ? null : placeOf(model.header.prefix.length + index), event),
    pick: (index) => pin(model.header.prefix.length + index),
  });
  stage.style.touchAction = 'pan-y'; // a finger across the picture moves the query; up and down still scrolls the page
  stage.onfocus = () => {
    const patch = tokenOf(options.pin) - (model?.header.prefix.length ?? 0);
    if (patches.index < 0 && patch >= 0 && stage.matches(':focus-visible')) patches.move(patch);
  };

  const onHover = ({ group, query }) => {
    if (!model || group !== model.header.group) return;
    hover = query;
    schedule();
  };
  const onView = (news) => {
    if (model && news.group === model.header.group) {
      options = { ...DEFAULT_VIEW, ...news };
      schedule();
    }
  };
  const onStrip = ({ tag }) => {
    if (model && tag === model.header.strip) {
      takeStrip();
      schedule();
    }
  };
  onUnmount(listen('strip', root, onStrip));
  onUnmount(listen('hover', root, onHover));
  onUnmount(listen('options', root, onView));
  onUnmount(() => cancelAnimationFrame(pending));

  // ------------------------------------------------------------ painting

  function schedule() {
    if (!pending && model)
      pending = requestAnimationFrame(() => {
        pending = 0;
        paint();
      });
  }

  /** The weight below which a patch is left out when the strongest hold `share` of the patches' mass (as kept_by_mass). */
  function threshold(map) {
    const first = model.header.prefix.length,
      ranked = map.slice(first).sort().reverse();
    const enough = ranked.reduce((sum, value) => sum + value, 0) * options.share * (1 - 1e-6);
    let sum = 0;
    for (const value of ranked) {
      sum += value;
      if (sum >= enough) return value;
    }
    return 0;
  }

  /** One map's patches into a canvas of one pixel per patch; CSS does the scaling. */
  function fill(node, map, max, seen) {
    const {
      grid: [rows, cols],
      prefix,
    } = model.header;
    if (node.width !== cols || node.height !== rows) {
      node.width = cols;
      node.height = rows;
      node.ax = null;
    }
    node.ax ??= node.getContext('2d').createImageData(cols, rows);
    const image = node.ax,
      words = new Uint32Array(image.data.buffer),
      span = max > 0 ? 255 / max : 0;
    const least = options.style === 'mask' ? threshold(map) : -1;
    for (let i = 0; i < words.length; i++)
      if (least >= 0) words[i] = map[prefix.length + i] >= least && map[prefix.length + i] > 0 ? 0 : model.covered;
      else
        words[i] =
          seen && !seen[prefix.length + i]
            ? model.unseen
            : model.table[Math.min(255, (map[prefix.length + i] * span + 0.5) | 0)];
    node.getContext('2d').putImageData(image, 0, 0);
  }
  const highest = (map) => {
    let max = 0;
    for (let i = model.header.prefix.length; i < map.length; i++) if (map[i] > max) max = map[i];
    return max;
  };

  function paint() {
    const began = performance.now();
    const { header, layer, strip, maps, stripMaps, main, seen } = model;
    const query = hover ?? options.pin,
      token = tokenOf(query),
      first = header.prefix.length;
    style();
    for (let h = 0; h < layer.count; h++) layer.read(h, token, options.direction, maps[h], h ? null : seen);
    for (let l = 0; l < stripMaps.length; l++) strip.read(l, token, options.direction, stripMaps[l], null);
    const chosen = typeof header.head === 'number' ? maps[header.head - 1] : fuse(maps, header.head, main);
    const windowed = header.windowed ? seen : null;
    let shared = 0;
    for (const map of maps) shared = Math.max(shared, highest(map));
    for (const map of stripMaps) shared = Math.max(shared, highest(map));
    // The stage is read by its own legend; the small maps are read against each other.
    const scale = (map) => (options.scale === 'shared' ? shared : highest(map)),
      top = highest(chosen);
    fill(veil, chosen, top, windowed);
    maps.forEach((map, h) => fill(model.heads[h].node, map, scale(map), windowed));
    stripMaps.forEach((map, l) => fill(model.layers[l].node, map, scale(map), null));
    place(marker, token - first);
    place(pinned, options.pin && hover ? tokenOf(options.pin) - first : -1);
    high.textContent = weight(top);
    const scaled = options.scale === 'shared' ? `scale 0 to ${weight(shared)}` : 'each its own scale';
    headsScale.textContent = layersScale.textContent = options.style === 'mask' ? '' : scaled;
    header.prefix.forEach((name, i) => {
      model.buttons[i].share.textContent = percent(chosen[i]);
      model.buttons[i].button.classList.toggle('ax-on', i === token);
      model.buttons[i].button.setAttribute('aria-pressed', String(options.pin === name));
    });
    shown = { token, chosen, query };
    describe();
    root.dataset.query = String(token);
    root.dataset.repaintMs = (performance.now() - began).toFixed(2);
    root.dataset.repaints = String(Number(root.dataset.repaints ?? 0) + 1);
  }

  function place(node, patch) {
    const {
      grid: [rows, cols],
    } = model.header;
    node.hidden = patch < 0;
    if (patch < 0) return;
    Object.assign(node.style, {
      left: `${(100 * (patch % cols)) / cols}%`,
      top: `${(100 * Math.floor(patch / cols)) / rows}%`,
      width: `${100 / cols}%`,
      height: `${100 / rows}%`,
    });
  }

  /** The numbers under the query, and the formula with them put in. */
  function numbers() {
    const { header } = model,
      { token, chosen } = shown,
      first = header.prefix.length;
    let best = -1,
      total = 0,
      entropy = 0,
      onPrefix = 0;
    chosen.forEach((a, k) => {
      total += a;
      if (k < first) onPrefix += a;
      // Of a row the patches are compared, prefix tokens have a line of their own; a column's strongest may be any.
      if ((k >= first || options.direction !== 'row') && (best < 0 || a > chosen[best])) best = k;
    });
    chosen.forEach((a) => {
      if (a > 0) entropy -= (a / total) * Math.log2(a / total);
    });
    return { best, total, onPrefix, keys: 2 ** entropy, self: chosen[token] };
  }
  function describe() {
    const { header } = model,
      { token, chosen } = shown,
      n = numbers(),
      row = options.direction === 'row';
    const head = typeof header.head === 'number' ? `head ${header.head}` : `${header.head} of heads`;
    const weightOf = row ? 'with weight' : 'its weight';
    const rows = [
      [!row ? 'Looked at most by' : header.prefix.length ? 'Strongest patch' : 'Looks most at', nameOf(n.best)],
      [weightOf, weight(chosen[n.best])],
      ...(header.prefix.length
        ? [
            [
              row ? 'On prefix tokens' : 'From prefix tokens',
              row ? percent(n.onPrefix / (n.total || 1)) : weight(n.onPrefix),
            ],
          ]
        : []),
      [row ? 'On itself' : 'From itself', row ? percent(n.self / (n.total || 1)) : weight(n.self)],
      row
        ? ['Looks at about', `${n.keys.toFixed(1)} of ${header.windowed ? header.slots : chosen.length} tokens`]
        : ['Sum of all looks', `${n.total.toFixed(2)} (even: 1)`],
    ];
    const pair = row ? `${token}, ${n.best}` : `${n.best}, ${token}`;
    // A softmax sums to 1; what eight bits a weight sum to would only look like an error of the model.
    const exact = row && (typeof header.head === 'number' || header.head === 'mean');
    const sum = row ? `Σₖ A[${token}, k]` : `Σ_q A[q, ${token}]`;
    named.lastChild.textContent = nameOf(token);
    subtitle.textContent = `${!hover && options.pin ? 'pinned · ' : ''}index ${token} of 0 to ${chosen.length - 1} · layer ${header.layer_name} · ${head}`;
    // Rows are made once and their text is set: a hover must not rebuild the table.
    while (facts.rows.length > rows.length) facts.deleteRow(-1);
    rows.forEach(([name, value], i) => {
      const line = facts.rows[i] ?? facts.insertRow();
      if (!line.cells.length) {
        el(line, 'th', { scope: 'row' });
        el(line, 'td');
      }
      line.cells[0].textContent = name;
      line.cells[1].textContent = value;
      line.title =
        name === 'Looks at about'
          ? '2 to the power of the entropy of these weights, in bits: so many keys with equal weights would have the same entropy'
          : '';
    });
    const softmax = `softmax(${header.scores})`;
    const made = typeof header.head === 'number' ? softmax : `${header.head} over heads of ${softmax}`;
    formula.textContent = `A[${pair}] = ${made} = ${weight(chosen[n.best])}\n${sum} = ${exact ? '1' : n.total.toFixed(2)}`;
  }
  function spoken() {
    paint();
    const n = numbers(),
      verb = options.direction === 'row' ? 'looks, of all patches, most at' : 'is looked at most by';
    return `${nameOf(shown.token)} ${verb} ${nameOf(n.best)}, weight ${weight(shown.chosen[n.best])}.`;
  }

  // ------------------------------------------------------------ how it is viewed

  let styled = '';
  function style() {
    const { colors, header } = model;
    const key = JSON.stringify([
      options.style,
      options.opacity,
      options.smooth,
      options.grid,
      options.direction,
      colors.mode,
      header.layer_name,
      header.head,
    ]);
    if (key === styled) return;
    styled = key;
    const mask = options.style === 'mask',
      dim = options.style === 'dim',
      heat = options.style === 'heat';
    const table = heat ? SEQUENTIAL_LUT : dim ? accentLut('#000000') : accentLut(colors.query);
    // Words of four bytes: one store per patch. 'Dim' covers what is not looked at.
    const copy = new Uint8ClampedArray(table);
    if (dim) for (let i = 0; i < 256; i++) copy[4 * i + 3] = 255 - i;
    model.table = new Uint32Array(copy.buffer);
    const outside = dim
      ? [0, 0, 0, 255]
      : heat
        ? [...rgb(colors.panel), 255]
        : [...rgb(colors.mode === 'dark' ? '#10151C' : '#FBFAF7'), 150];
    model.unseen = new Uint32Array(new Uint8ClampedArray(outside).buffer)[0];
    model.covered = new Uint32Array(new Uint8ClampedArray([0, 0, 0, 255]).buffer)[0];
    legend.style.visibility = mask ? 'hidden' : '';
    root.dataset.style = options.style;
    root.style.setProperty('--ax-opacity', options.opacity);
    page.classList.toggle('ax-smooth', Boolean(options.smooth));
    page.classList.toggle('ax-grid', Boolean(options.grid));
    bar.getContext('2d').putImageData(new ImageData(new Uint8ClampedArray(copy), 256, 1), 0, 0);
    const what = options.direction === 'row' ? 'where the query looks' : 'who looks at the query';
    headsTitle.textContent = `${header.heads} heads of layer ${header.layer_name}: ${what}`;
    layersTitle.textContent = `${typeof header.head === 'number' ? `Head ${header.head}` : `The ${header.head} of the heads`} in ${header.strip_names.length} layers`;
  }

  // ------------------------------------------------------------ building

  function build({ header, arrays, colors }) {
    const key = JSON.stringify([header.heads, header.strip_names, header.prefix, header.grid, colors.mode]);
    if (key === built) return;
    built = key;
    tokens.replaceChildren();
    headsBox.replaceChildren();
    layersBox.replaceChildren();
    model.buttons = header.prefix.map((name, i) => {
      const button = el(tokens, 'button', { type: 'button', class: 'ax-token', 'data-token': name });
      el(button, 'b', {}, tokenName(name));
      const share = el(button, 'span', { class: 'vv-muted' });
      button.onpointerenter = () => look(name);
      button.onpointerleave = () => look(null);
      button.onfocus = (event) => {
        if (button.matches(':focus-visible')) look(name, event);
      };
      button.onblur = () => look(null);
      button.onclick = () => pin(i);
      return { button, share };
    });
    const [rows, cols] = header.grid;
    stage.style.aspectRatio = `${cols} / ${rows}`;
    root.style.setProperty('--ax-ratio', `${cols} / ${rows}`);
    lines.style.backgroundSize = `calc(100% / ${cols}) calc(100% / ${rows})`;
    model.heads = Array.from({ length: header.heads }, (_, h) =>
      thumbnail(headsBox, `head ${h + 1}`, headColor(h, header.heads), () => trigger('head', h + 1)),
    );
    model.layers = header.strip_names.map((name, l) =>
      thumbnail(layersBox, name, '', () => trigger('layer', header.strip_layers[l])),
    );
    // Few layers stand under the heads, many need the whole width.
    const few = header.strip_names.length <= 6;
    (few ? right : page).append(layersHead, layersBox);
    layersHead.classList.toggle('ax-wide', !few);
    layersBox.classList.toggle('ax-wide', !few);
    headsBox.style.setProperty('--ax-columns', Math.max(4, header.heads <= 8 ? 4 : 6));
    layersBox.style.setProperty('--ax-columns', few ? 4 : Math.min(12, Math.max(8, header.strip_names.length)));
  }

  let drawn = null;
  function drawPicture(image) {
    // Every layer brings the picture along; making its small copy again costs more than to see that it is the same.
    if (drawn?.length === image.data.length && drawn.every((value, i) => value === image.data[i])) return;
    drawn = image.data;
    const source = picture(image);
    base.width = source.width;
    base.height = source.height;
    base.getContext('2d').drawImage(source, 0, 0);
    base.style.imageRendering = source.width < 128 ? 'pixelated' : 'auto';
    root.dataset.pixelated = String(source.width < 128);
    root.style.setProperty('--ax-picture', `url(${source.toDataURL()})`);
  }

  /** The strip that the layer names; until its message is here, the small maps of the layers wait. */
  function takeStrip() {
    const arrays = recall('strip', model.header.strip);
    if (!arrays || model.stripTag === model.header.strip) return;
    const count = model.main.length;
    model.stripTag = model.header.strip;
    model.strip = stack(arrays, count);
    model.stripMaps = Array.from({ length: model.strip.count }, () => new Float32Array(count));
  }

  return function update({ header, arrays, colors, width }) {
    root.classList.toggle('ax-narrow', width < 640);
    const count = header.prefix.length + header.grid[0] * header.grid[1];
    if (model?.arrays !== arrays) {
      const kept = model;
      model = {
        header,
        arrays,
        colors,
        layer: stack(arrays, count, 'layer_'),
        strip: null,
        stripMaps: [],
        maps: Array.from({ length: arrays.layer_codes.shape[0] }, () => new Float32Array(count)),
        main: new Float32Array(count),
        seen: new Uint8Array(count),
        buttons: kept?.buttons,
        heads: kept?.heads,
        layers: kept?.layers,
      };
      styled = '';
      takeStrip();
    }
    if (model.colors !== colors) styled = '';
    model.colors = colors;
    options = { ...DEFAULT_VIEW, ...(recall('options', header.group) ?? options) };
    build({ header, arrays, colors });
    drawPicture(arrays.picture);
    model.heads.forEach(({ button }, h) => button.setAttribute('aria-pressed', String(h + 1 === header.head)));
    model.layers.forEach(({ button }, l) =>
      button.setAttribute('aria-pressed', String(header.strip_layers[l] === header.layer)),
    );
    root.dataset.layer = header.layer_name;
    root.dataset.head = String(header.head);
    paint();
  };
}
