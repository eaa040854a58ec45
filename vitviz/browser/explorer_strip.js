// Store one head's attention in all layers by tag, so that a change of layer does not resend it; draws nothing.
// Explorers may share a strip, which is dropped with its last owner.

import { drop, keep, tell } from './kit/bus.js';

export default function explorerStrip({ root, onUnmount }) {
  root.style.height = '0';
  let current = null;
  onUnmount(() => drop('strip', current, root));
  return function update({ header: { tag }, arrays }) {
    if (tag === current) return;
    keep('strip', tag, root, arrays);
    drop('strip', current, root);
    current = tag;
    tell('strip', root, { tag });
  };
}
