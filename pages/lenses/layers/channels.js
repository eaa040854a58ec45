// Draw a CNN's channels, stage by stage: the feature map over the image, and the patches with the strongest responses.

import { CellFrame } from '../../../vitviz/browser/kit/cell_frame.js';
import { button, el, tooltip } from '../../../vitviz/browser/kit/dom.js';
import { photo, heat } from '../../../vitviz/browser/kit/pixels.js';
import { accentLut } from '../../../vitviz/browser/kit/colour_ramp.js';
import { percent } from '../../../vitviz/browser/kit/text.js';

const ACROSS = 3; // patches in a row

export default class Channels {
  constructor({ root, trigger }) {
    Object.assign(this, { root, trigger, now: null, photo: photo(root) });
    this.box = el(root, 'div', { class: 'lc vv-grey' });
    this.tip = tooltip(root);
  }

  build({ header }) {
    this.box.replaceChildren();
    this.maps = [];
    this.tiles = header.stages.map((stage, s) => {
      const column = el(this.box, 'section', { class: 'lc-stage' });
      el(column, 'div', { class: 'lc-title' }, stage.title);
      el(column, 'div', { class: 'lc-note vv-muted' }, stage.note);
      return stage.channels.map((channel, c) => this.channel(column, s, c, channel));
    });
  }

  /** Draws a channel's map on the left, its patches on the right, its number and strength below. */
  channel(column, s, c, channel) {
    const line = el(column, 'div', { class: 'lc-channel' });
    const frame = new CellFrame(line);
    frame.shape([1, 1]);
    frame.node.setAttribute('role', 'img');
    this.maps.push({ s, c, frame });
    const patches = el(line, 'div', { class: 'lc-patches' });
    const tiles = channel.tops.map((top) => this.tile(patches, top));
    el(
      line,
      'div',
      { class: 'lc-label vv-muted' },
      `Channel ${channel.number + 1}: ${percent(channel.share, 0)}${s || c ? '' : ' of the mean of its strongest responses'}`,
    );
    return tiles;
  }

  tile(patches, { name, value, image }) {
    const label = `${name && `class ${name}, `}response ${value.toFixed(2)}`;
    const node = button(patches, '', () => this.trigger('open', image), {
      class: 'lc-tile',
      'aria-label': `${label}: select this image`,
    });
    const hint = (event) => {
      this.tip.showOver(node, 0, 0, `${label}\nClick to select this image`);
      event.stopPropagation();
    };
    Object.assign(node, { onpointerenter: hint, onfocus: hint });
    node.onpointerleave = node.onblur = () => this.tip.hide();
    return el(node, 'canvas', { 'aria-hidden': 'true' });
  }

  paintMap({ s, c, frame }, table) {
    const { header, arrays } = this.now;
    const stage = header.stages[s];
    const { data, shape } = arrays[`maps${s}`];
    const [, rows, cols] = shape;
    frame.showCells(heat(data, rows, cols, table, 0, 255, c * rows * cols));
    const name = `Feature map of channel ${stage.channels[c].number + 1} of ${stage.title}`;
    frame.node.setAttribute('aria-label', `${name}, up to ${stage.most[c].toFixed(2)}`);
  }

  /** Cuts a stage's sprite into tiles of the patches' size; CSS scales them without smoothing. */
  async paintPatches(s) {
    const { header, arrays } = this.now;
    const { kind, side } = header.stages[s];
    const { data } = arrays[`patches${s}`];
    const sprite = await createImageBitmap(new Blob([data], { type: kind }), { colorSpaceConversion: 'none' });
    if (this.now.arrays[`patches${s}`]?.data !== data) return; // A newer message has arrived.
    this.tiles[s].forEach((tiles, c) =>
      tiles.forEach((node, t) => {
        Object.assign(node, { width: side, height: side });
        node.getContext('2d').drawImage(sprite, t * side, c * side, side, side, 0, 0, side, side);
      }),
    );
    this.root.dataset.patches = String(Number(this.root.dataset.patches ?? 0) + 1);
  }

  update(message, fresh) {
    this.now = message;
    const { header, colors } = message;
    if (fresh) {
      this.build(message);
      this.box.style.setProperty('--lc-across', ACROSS);
      header.stages.forEach((_, s) => this.paintPatches(s));
    }
    const table = accentLut(colors.query);
    for (const map of this.maps) this.paintMap(map, table);
    this.photo.show(message, (bitmap) => {
      for (const { frame } of this.maps) frame.showImage(bitmap);
    });
  }
}
