// An image with cells over it, and marks around its pinned cell and the cell under the pointer; base.css holds its style.

import { el } from './dom.js';
import { mark } from './pin.js';
import { cover, coverOnce } from './pixels.js';

export class CellFrame {
  /** Create the frame in a parent; `kind` adds classes. */
  constructor(parent, kind = '') {
    this.node = el(parent, 'div', { class: `vv-frame ${kind}` });
    this.image = el(this.node, 'canvas', { 'aria-hidden': 'true' });
    this.cells = el(this.node, 'canvas', { class: 'vv-cells', 'aria-hidden': 'true' });
    this.marks = ['vv-pin', 'vv-seen'].map((name) => el(this.node, 'div', { class: `vv-mark ${name}`, hidden: '' }));
  }

  /** Set the proportions to those of (height, width), such as a grid's rows and columns. */
  shape([height, width]) {
    this.node.style.aspectRatio = `${width} / ${height}`;
  }

  showImage(bitmap) {
    coverOnce(this.image, bitmap);
  }

  /** Draw cells, one pixel each. */
  showCells(source) {
    cover(this.cells, source);
  }

  /** Mark the pinned cell of a grid, -1 for none. */
  pin(grid, cell) {
    mark(this.marks[0], grid, cell);
  }

  /** Mark the cell under the pointer, -1 for none. */
  point(grid, cell) {
    mark(this.marks[1], grid, cell);
  }
}
