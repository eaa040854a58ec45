// Light one patch and step through the blocks: where can its information be, with and without the shift?
// header: {rows, cols, pin, blocks, panels: [{title, note}]}
// arrays: shown (S, S, 3) uint8; hops (panels, output, input) uint8: blocks until the input can have reached the output

import { canvas, el, live } from '../../views/kit/dom.js';
import { gridNavigation } from '../../views/kit/grid.js';
import { animate } from '../../views/kit/motion.js';
import { PALETTE } from '../../views/kit/palette.js';
import { blit, picture } from '../../views/kit/pixels.js';

const STEP_MS = 1000;

export default function swinReach({ root, trigger, onUnmount }) {
  let now = null,
    block = 1,
    grown = 1,
    hover = -1,
    pinned = 0,
    forward = true,
    playing = false,
    timer = 0,
    stop = () => {},
    image = null;
  const drive = el(root, 'div', { class: 'vv-row' });
  const press = (parent, text, label, act) => {
    const node = el(parent, 'button', { type: 'button', 'aria-label': label }, text);
    node.onclick = act;
    return node;
  };
  const back = press(drive, '◀', 'One block back', () => {
    pause();
    go(block - 1);
  });
  const play = press(drive, '▶ Play', 'Play through the blocks', () => (playing ? pause() : begin()));
  const next = press(drive, '▶', 'One block further', () => {
    pause();
    go(block + 1);
  });
  const scrub = el(drive, 'input', { type: 'range', min: 0, step: 1, 'aria-label': 'Blocks' });
  scrub.oninput = () => {
    pause();
    go(Number(scrub.value));
  };
  const counted = el(drive, 'span', { class: 'sw-counted' });
  const ways = el(drive, 'span', { class: 'vv-row', role: 'group', 'aria-label': 'Direction' });
  const out = press(ways, 'Where this patch reaches', 'Where this patch reaches', () => turn(true));
  const into = press(ways, 'What this token reads', 'What this token reads', () => turn(false));
  const grid = el(root, 'div', { class: 'sw-panels' });
  const panels = [];
  const chartHead = el(root, 'div', { class: 'sw-head sw-above' });
  const chart = canvas(root, { role: 'img' });
  const say = live(root);

  const count = () => now.header.rows * now.header.cols;
  const active = () => (hover >= 0 ? hover : pinned);
  const hop = (panel, other) => {
    const n = count(),
      p = active(),
      [o, i] = forward ? [other, p] : [p, other];
    return now.arrays.hops.data[(panel * n + o) * n + i];
  };
  function reached(panel, at) {
    let sum = 0;
    for (let q = 0; q < count(); q++) sum += hop(panel, q) <= at;
    return sum;
  }

  function drawPanel(k) {
    const { rows, cols } = now.header,
      self = panels[k],
      w = self.side,
      step = w / cols,
      { colors } = now;
    const ctx = self.map.size(w, step * rows);
    blit(ctx, image, 0, 0, w, step * rows, image.width > w);
    for (let q = 0; q < count(); q++) {
      const x = (q % cols) * step,
        y = Math.floor(q / cols) * step,
        at = hop(k, q);
      // A patch that is being reached fades in; the ones before stay lit, older ones lighter.
      const lit = Math.max(0, Math.min(1, grown - at + 1));
      ctx.globalAlpha = 0.78 * (1 - lit);
      ctx.fillStyle = colors.paper;
      ctx.fillRect(x, y, step + 0.5, step + 0.5);
      if (lit > 0) {
        ctx.globalAlpha = lit * (at === 0 ? 0 : at === Math.max(1, block) ? 0.5 : 0.24);
        ctx.fillStyle = colors.query;
        ctx.fillRect(x, y, step + 0.5, step + 0.5);
      }
    }
    ctx.globalAlpha = 0.35;
    ctx.strokeStyle = colors.ink;
    ctx.lineWidth = 0.5;
    for (let i = 1; i < cols; i++) {
      ctx.beginPath();
      ctx.moveTo(i * step, 0);
      ctx.lineTo(i * step, step * rows);
      ctx.moveTo(0, i * step);
      ctx.lineTo(w, i * step);
      ctx.stroke();
    }
    ctx.globalAlpha = 1;
    const x = (active() % cols) * step,
      y = Math.floor(active() / cols) * step;
    ctx.strokeStyle = '#fff';
    ctx.lineWidth = 4;
    ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    ctx.strokeStyle = colors.query;
    ctx.lineWidth = 2.5;
    ctx.strokeRect(x + 1, y + 1, step - 2, step - 2);
    const found = reached(k, block);
    self.note.textContent = `${found.toLocaleString('en')} of ${count().toLocaleString('en')} patches · ${((100 * found) / count()).toFixed(0)} %`;
  }
  function drawChart() {
    const { blocks, panels: names } = now.header,
      { colors } = now,
      width = Math.min(now.width, 720),
      height = 168;
    const ctx = chart.size(width, height),
      left = 40,
      right = width - 168,
      top = 8,
      bottom = height - 28;
    const px = (b) => left + ((right - left) * b) / blocks,
      py = (share) => bottom - (bottom - top) * share;
    ctx.font = `12px ${colors.font}`;
    ctx.textBaseline = 'middle';
    for (const share of [0, 0.5, 1]) {
      ctx.strokeStyle = colors.line;
      ctx.lineWidth = 1;
      ctx.beginPath();
      ctx.moveTo(left, py(share));
      ctx.lineTo(right, py(share));
      ctx.stroke();
      ctx.fillStyle = colors.muted;
      ctx.textAlign = 'right';
      ctx.fillText(`${100 * share} %`, left - 6, py(share));
    }
    ctx.textAlign = 'center';
    for (let b = 0; b <= blocks; b++) ctx.fillText(b, px(b), bottom + 14);
    ctx.strokeStyle = colors.query;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(px(grown), top);
    ctx.lineTo(px(grown), bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    const ends = names
      .map((panel, k) => ({ k, title: panel.title, y: py(reached(k, blocks) / count()) }))
      .sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => {
      end.at = i ? Math.max(end.y, ends[i - 1].at + 16) : end.y;
    });
    for (const { k, title, at } of ends) {
      const color = PALETTE.HEADS[[5, 1, 2, 3][k % 4]];
      ctx.strokeStyle = color;
      ctx.lineWidth = 2;
      ctx.beginPath();
      for (let b = 0; b <= blocks; b++) ctx[b ? 'lineTo' : 'moveTo'](px(b), py(reached(k, b) / count()));
      ctx.stroke();
      ctx.fillStyle = color;
      ctx.beginPath();
      ctx.arc(px(block), py(reached(k, block) / count()), 4, 0, 7);
      ctx.fill();
      ctx.fillStyle = colors.ink;
      ctx.textAlign = 'left';
      ctx.fillText(title, right + 10, at);
      ctx.fillStyle = color;
      ctx.fillRect(right + 2, at - 4, 4, 8);
    }
    chartHead.textContent = `Share of the picture ${forward ? 'reached' : 'read'}, after each block`;
    chart.node.setAttribute(
      'aria-label',
      names
        .map((panel, k) => `${panel.title}: ${Array.from({ length: blocks + 1 }, (_, b) => reached(k, b)).join(', ')}`)
        .join('; '),
    );
  }
  function drawAll() {
    panels.forEach((_, k) => drawPanel(k));
    drawChart();
    counted.textContent = block === 0 ? 'before block 1' : `after ${block} block${block > 1 ? 's' : ''}`;
    scrub.value = block;
    back.disabled = block <= 0;
    next.disabled = block >= now.header.blocks;
    out.setAttribute('aria-pressed', String(forward));
    into.setAttribute('aria-pressed', String(!forward));
    root.dataset.block = String(block);
    root.dataset.reached = panels.map((_, k) => reached(k, block)).join(' ');
  }
  function go(target, done = () => {}) {
    stop();
    const to = Math.max(0, Math.min(now.header.blocks, target)),
      from = grown;
    block = to;
    stop = animate(
      450,
      (t) => {
        grown = from + (to - from) * t;
        drawAll();
      },
      () => {
        say(
          `${counted.textContent}: ${panels.map((p, k) => `${now.header.panels[k].title} ${p.note.textContent}`).join('; ')}`,
        );
        done();
      },
    );
  }
  function begin() {
    playing = true;
    face();
    if (block >= now.header.blocks) {
      block = 0;
      grown = 0;
      drawAll();
    }
    advance();
  }
  function advance() {
    if (!playing) return;
    if (block >= now.header.blocks) {
      pause();
      return;
    }
    go(block + 1, () => {
      timer = setTimeout(advance, STEP_MS);
    });
  }
  function pause() {
    playing = false;
    clearTimeout(timer);
    stop();
    if (now) grown = block;
    face();
  }
  function face() {
    play.textContent = playing ? '❚❚ Pause' : '▶ Play';
    play.setAttribute('aria-label', playing ? 'Pause' : 'Play through the blocks');
  }
  function turn(way) {
    forward = way;
    drawAll();
  }
  onUnmount(() => {
    playing = false;
    clearTimeout(timer);
    stop();
  });

  function addPanel(k) {
    const box = el(grid, 'div');
    const self = {
      box,
      head: el(box, 'div', { class: 'sw-head' }),
      map: canvas(box, { class: 'sw-cross' }),
      note: el(box, 'div', { 'data-role': `reach${k}` }),
      why: el(box, 'div', { class: 'vv-muted sw-why' }),
      side: 100,
    };
    panels[k] = self;
    gridNavigation(self.map.node, {
      label: `Patches, panel ${k + 1}`,
      rows: () => now.header.rows,
      cols: () => now.header.cols,
      hover(i, event) {
        hover = i;
        drawAll();
        if (event?.type === 'keydown' && i >= 0) say(`Patch ${i + 1}: ${self.note.textContent}`);
      },
      pick(i) {
        pinned = i;
        const { rows, cols } = now.header;
        trigger('pin', [((i % cols) + 0.5) / cols, (Math.floor(i / cols) + 0.5) / rows]);
        drawAll();
      },
      keys: { n: () => next.click(), b: () => back.click(), p: () => play.click() },
    });
  }
  return (message) => {
    const fresh = now?.arrays !== message.arrays;
    now = message;
    const { header, width } = now;
    while (panels.length < header.panels.length) addPanel(panels.length);
    if (fresh) {
      pause();
      image = picture(now.arrays.shown);
      pinned = header.pin;
      hover = -1;
      block = grown = Math.min(block, header.blocks);
    }
    scrub.max = header.blocks;
    const across = width >= 760 ? 4 : 2,
      side = Math.floor((width - 16 * (across - 1)) / across);
    panels.forEach((self, k) => {
      self.side = side;
      self.box.style.width = `${side}px`;
      self.head.textContent = header.panels[k].title;
      self.why.textContent = header.panels[k].note;
    });
    drawAll();
  };
}
