// A run's life: a timeline of its snapshots, and pictures that are redrawn from one flip-book without the server.

import { listen, tell } from '../../views/kit/bus.js';
import { canvas, el, live, tooltip } from '../../views/kit/dom.js';
import { reducedMotion } from '../../views/kit/motion.js';
import { blit, heat, picture } from '../../views/kit/pixels.js';
import { DIVERGING_LUT, SEQUENTIAL_LUT, accentLut, headColor } from '../../views/kit/ramp.js';

const GUTTER = 2,
  FRAME_MS = 220;
const RAMP = Uint8Array.from({ length: 256 }, (_, i) => i);
const TABLES = { diverging: DIVERGING_LUT, sequential: SEQUENTIAL_LUT };

const counted = (value) => Math.round(value).toLocaleString('en').replaceAll(',', '\u202f');

// Where each run's timeline stood: a page that is drawn anew (a run has ended) must not lose it.
const stood = new Map();

export default function life({ root, send, trigger, onUnmount }) {
  const bar = el(root, 'div', { class: 'life-bar' });
  const back = el(
    bar,
    'button',
    { type: 'button', 'aria-label': 'One snapshot back', title: 'One snapshot back' },
    '◀',
  );
  const play = el(bar, 'button', { type: 'button', title: 'Play the run from its first snapshot' }, 'play');
  const ahead = el(bar, 'button', { type: 'button', 'aria-label': 'One snapshot on', title: 'One snapshot on' }, '▶');
  const track = el(bar, 'input', {
    type: 'range',
    min: '0',
    max: '0',
    step: '1',
    'aria-label': 'Moment of training',
    class: 'life-track',
  });
  const follow = el(bar, 'button', { type: 'button', title: 'Always show the newest snapshot' }, 'follow the newest');
  const where = el(root, 'div', { class: 'life-where vv-muted' });
  const grid = el(root, 'div', { class: 'life-grid' });
  const tip = tooltip(root),
    say = live(root);
  const state = { index: 0, follow: true, playing: 0, run: null };
  let now = null,
    cards = [];

  const steps = () => now.header.steps;
  const last = () => steps().length - 1;

  function go(index, { silent = false } = {}) {
    state.index = Math.min(Math.max(index, 0), last());
    draw();
    if (!silent) {
      const step = steps()[state.index];
      tell('moment', root, { run: now.header.run, step });
    }
  }
  /** What the visitor settled on travels to the server: links and lens pages use it. */
  const settle = () => send('moment', { run: now.header.run, step: steps()[state.index], follow: state.follow });

  function stop() {
    clearInterval(state.playing);
    state.playing = 0;
    play.textContent = 'play';
  }
  play.onclick = () => {
    if (state.playing) {
      stop();
      settle();
      return;
    }
    state.follow = false;
    go(state.index >= last() ? 0 : state.index);
    play.textContent = 'pause';
    state.playing = setInterval(
      () => {
        if (state.index >= last()) {
          stop();
          settle();
          return;
        }
        go(state.index + 1);
      },
      reducedMotion() ? 3 * FRAME_MS : FRAME_MS,
    );
  };
  const by = (n) => {
    stop();
    state.follow = false;
    go(state.index + n);
    settle();
  };
  back.onclick = () => by(-1);
  ahead.onclick = () => by(1);
  track.oninput = () => {
    stop();
    state.follow = false;
    go(Number(track.value));
  };
  track.onchange = () => settle();
  follow.onclick = () => {
    stop();
    state.follow = !state.follow;
    if (state.follow) go(last());
    else draw();
    settle();
  };
  const onMoment = (news) => {
    if (!now || news.run !== now.header.run) return;
    stop();
    state.follow = false;
    const all = steps();
    let best = 0;
    all.forEach((step, i) => {
      if (Math.abs(step - news.step) < Math.abs(all[best] - news.step)) best = i;
    });
    go(best, { silent: true });
  };
  onUnmount(listen('moment', root, onMoment));
  onUnmount(() => stop());

  // ---- the pictures

  function build() {
    const names = now.header.pictures.map((p) => p.name).join();
    if (names === grid.dataset.names) return;
    grid.dataset.names = names;
    grid.replaceChildren();
    cards = now.header.pictures.map((p, i) => {
      const card = el(grid, 'figure', { class: `life-card ${p.wide ? 'life-wide' : ''}` });
      const head = el(card, 'figcaption', { class: 'life-head' });
      el(head, 'span', { class: 'life-title' }, p.title);
      if (p.page) {
        const open = el(
          head,
          'button',
          { type: 'button', class: 'life-open', title: `Open this run at this step in ${p.opens}` },
          'open',
        );
        open.onclick = () => trigger('open', { page: p.page, step: steps()[state.index] });
      }
      const map = canvas(card, { role: 'img' });
      const note = el(card, 'div', { class: 'life-note vv-muted' });
      map.node.onpointermove = (event) => hover(i, event);
      map.node.onpointerleave = () => tip.hide();
      return { map, note };
    });
  }

  function hover(i, event) {
    const p = now.header.pictures[i],
      cell = cellAt(i, event.offsetX, event.offsetY);
    if (!cell) {
      tip.hide();
      return;
    }
    const { shape, data } = now.arrays[p.name],
      [, R, C, h, w] = shape;
    const at = (((state.index * R + cell.R) * C + cell.C) * h + cell.y) * w + cell.x;
    const parts = [];
    if (p.rows) parts.push(p.rows[cell.R]);
    if (p.cols) parts.push(p.cols[cell.C]);
    if (p.kind === 'rgb') parts.push(p.tiles?.[state.index]?.[cell.R * C + cell.C] ?? '');
    else if (p.names)
      parts.push(
        `${p.names[cell.y]} read as ${p.names[cell.x]}: ${Math.round(p.lo + ((p.hi - p.lo) * data[at]) / 255)} %`,
      );
    else {
      if (p.tile) parts.push(`${p.tile} (${cell.R}, ${cell.C})`);
      parts.push(
        `row ${cell.y}, column ${cell.x}: ${(p.lo + ((p.hi - p.lo) * data[at]) / 255).toFixed(2)}${p.unit ? ` ${p.unit}` : ''}`,
      );
    }
    const node = cards[i].map.node;
    tip.show(node.offsetLeft + event.offsetX, node.offsetTop + event.offsetY, parts.filter(Boolean).join('\n'));
  }

  const short = (p) => p.names.every((name) => name.length <= 3);
  const named = (p) => (short(p) ? 22 : 0);

  function geometry(i) {
    const p = now.header.pictures[i],
      [, R, C, h, w] = now.arrays[p.name].shape;
    const width = cards[i].width,
      left = p.rows ? 30 : p.names ? named(p) : 0,
      top = p.cols || p.names ? 18 : 0;
    const scale = p.kind === 'rgb' ? 0 : 24;
    const gutter = R * C > 1 ? (p.kind === 'rgb' || p.rows || R * C <= 24 ? GUTTER : 1) : 0;
    const side = (width - left - gutter * (C - 1)) / C;
    const tall = (side * h) / w,
      label = p.kind === 'rgb' && p.tiles ? 18 : 0;
    const bottom = top + R * (tall + label) + gutter * (R - 1);
    return { p, R, C, h, w, left, top, gutter, side, tall, label, bottom, height: bottom + scale };
  }

  function cellAt(i, px, py) {
    const g = geometry(i),
      c = (px - g.left) / (g.side + g.gutter),
      r = (py - g.top) / (g.tall + g.label + g.gutter);
    const C = Math.floor(c),
      R = Math.floor(r);
    if (px < g.left || py < g.top || C >= g.C || R >= g.R) return null;
    const x = Math.floor(((c - C) * (g.side + g.gutter) * g.w) / g.side),
      y = Math.floor(((r - R) * (g.tall + g.label + g.gutter) * g.h) / g.tall);
    return x < g.w && y < g.h ? { R, C, x, y } : null;
  }

  function drawCard(i) {
    const card = cards[i];
    card.width = Math.max(80, Math.floor(card.map.node.parentElement.clientWidth));
    if (now.header.pictures[i].kind === 'dots') {
      drawDots(card, now.header.pictures[i]);
      return;
    }
    const g = geometry(i),
      { p, colors = now.colors } = g;
    const ctx = card.map.size(card.width, g.height),
      { data } = now.arrays[p.name];
    const frame = state.index * g.R * g.C * g.h * g.w,
      channels = p.kind === 'rgb' ? 3 : 1;
    const base = p.kind === 'overlay' ? picture(now.arrays[p.base]) : null;
    const table = p.kind === 'overlay' ? accentLut(colors.query) : TABLES[p.ramp];
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'middle';
    for (let R = 0; R < g.R; R++)
      for (let C = 0; C < g.C; C++) {
        const x = g.left + C * (g.side + g.gutter),
          y = g.top + R * (g.tall + g.label + g.gutter);
        const start = channels * (frame + (R * g.C + C) * g.h * g.w);
        if (channels === 3)
          blit(
            ctx,
            picture({ data: data.subarray(start, start + 3 * g.h * g.w), shape: [g.h, g.w, 3] }),
            x,
            y,
            g.side,
            g.tall,
          );
        else {
          if (base) {
            ctx.globalAlpha = 0.75;
            blit(ctx, base, x, y, g.side, g.tall);
            ctx.globalAlpha = 1;
          }
          blit(ctx, heat(data, g.h, g.w, table, 0, 255, start), x, y, g.side, g.tall);
        }
        if (g.label) {
          ctx.textAlign = 'center';
          ctx.fillText(p.tiles[state.index]?.[R * g.C + C] ?? '', x + g.side / 2, y + g.tall + 9, g.side);
        }
      }
    if (p.rows) {
      ctx.textAlign = 'left';
      p.rows.forEach((name, R) => ctx.fillText(name, 0, g.top + R * (g.tall + g.gutter) + g.tall / 2));
    }
    if (p.cols) {
      ctx.textAlign = 'center';
      p.cols.forEach((name, C) => ctx.fillText(name, g.left + C * (g.side + g.gutter) + g.side / 2, 8, g.side));
    }
    if (p.names) {
      ctx.textAlign = 'left';
      ctx.fillText('true ↓  read as →', 0, 8);
      if (short(p)) p.names.forEach((name, r) => ctx.fillText(name, 4, g.top + ((r + 0.5) * g.tall) / g.h));
    }
    if (p.kind !== 'rgb') drawScale(ctx, g, table);
    if (p.mark) {
      // the pinned query, on every map
      ctx.strokeStyle = colors.query;
      ctx.lineWidth = 1.5;
      for (let R = 0; R < g.R; R++)
        for (let C = 0; C < g.C; C++)
          ctx.strokeRect(
            g.left + C * (g.side + g.gutter) + (p.mark[1] * g.side) / g.w,
            g.top + R * (g.tall + g.gutter) + (p.mark[0] * g.tall) / g.h,
            g.side / g.w,
            g.tall / g.h,
          );
    }
  }

  /** The one scale of all maps of a picture, at all steps. */
  function drawScale(ctx, g, table) {
    const y = g.bottom + 14,
      unit = g.p.names ? ' %' : '',
      lo = `${g.p.lo}`,
      hi = `${Number(g.p.hi.toPrecision(2))}${unit}`;
    const width = 96,
      x = g.left + ctx.measureText(lo).width + 6;
    ctx.textAlign = 'left';
    ctx.fillStyle = now.colors.muted;
    ctx.fillText(lo, g.left, y);
    ctx.fillText(hi, x + width + 6, y);
    blit(ctx, heat(RAMP, 1, 256, table, 0, 255), x, y - 4, width, 8);
  }

  /** Values (layers x heads) as dots over the layers: one colour per head. */
  function drawDots(card, p) {
    const {
        data,
        shape: [, L, H],
      } = now.arrays[p.name],
      { colors } = now,
      height = Math.min(card.width * 0.8, 240);
    const ctx = card.map.size(card.width, height),
      left = 30,
      bottom = 34,
      top = 10;
    const fx = (l) => left + ((l + 0.5) * (card.width - left - 4)) / L,
      fy = (v) => top + (height - top - bottom) * (1 - v);
    ctx.font = `12px ${colors.font}`;
    ctx.fillStyle = colors.muted;
    ctx.textBaseline = 'middle';
    for (const part of [0, 0.5, 1]) {
      const y = Math.round(fy(part)) + 0.5;
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(card.width, y);
      ctx.stroke();
      ctx.textAlign = 'right';
      ctx.fillText(`${Number((p.hi * part).toPrecision(2))}`, left - 6, y);
    }
    ctx.textAlign = 'center';
    for (let l = 0; l < L; l++) ctx.fillText(String(l + 1), fx(l), height - bottom + 12);
    ctx.fillText('layer', left + (card.width - left) / 2, height - 8);
    for (let l = 0; l < L; l++)
      for (let h = 0; h < H; h++) {
        ctx.fillStyle = headColor(h, H);
        ctx.beginPath();
        ctx.arc(
          fx(l) + (h - (H - 1) / 2) * Math.min(6, (card.width - left) / L / H / 1.6),
          fy(data[(state.index * L + l) * H + h] / 255),
          4,
          0,
          7,
        );
        ctx.fill();
      }
  }

  function draw() {
    if (!now) return;
    const { header } = now,
      empty = !header.steps.length;
    for (const node of [back, play, ahead, track, follow]) node.disabled = empty;
    if (empty) {
      where.textContent = header.waiting;
      return;
    }
    state.index = Math.min(state.index, last());
    stood.set(header.run, { step: header.steps[state.index], follow: state.follow });
    track.max = String(last());
    track.value = String(state.index);
    follow.setAttribute('aria-pressed', String(state.follow));
    back.disabled = state.index === 0;
    ahead.disabled = state.index === last();
    const words = `step ${counted(header.steps[state.index])} · ${header.moments[state.index]}`;
    where.textContent = `${words} · snapshot ${state.index + 1} of ${header.steps.length}`;
    track.setAttribute('aria-valuetext', words);
    now.header.pictures.forEach((p, i) => {
      if (p.kind === 'none') {
        cards[i].map.node.hidden = true;
        cards[i].note.textContent = p.reason;
        return;
      }
      cards[i].map.node.hidden = false;
      drawCard(i);
      const caption = p.captions?.[state.index] ?? '';
      cards[i].note.textContent = caption;
      cards[i].map.node.setAttribute('aria-label', `${p.title} at ${words}. ${caption}`);
    });
  }

  return (message) => {
    const fresh = now?.header !== message.header;
    const before = now?.header.steps?.[state.index];
    now = message;
    if (fresh) {
      build();
      if (state.run !== now.header.run) {
        const kept = stood.get(now.header.run),
          at = now.header.moment ?? (kept?.follow === false ? kept.step : null);
        state.run = now.header.run;
        state.follow = at === null;
        stop();
        state.index = state.follow ? last() : Math.max(0, steps().indexOf(at));
      } else if (state.follow) state.index = last();
      else state.index = Math.max(0, steps().indexOf(before));
      state.index = Math.max(0, state.index);
    }
    draw();
    if (fresh && state.follow && steps().length) tell('moment', root, { run: now.header.run, step: null });
  };
}
