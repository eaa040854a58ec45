// Store the view options of a group of explorers, or one head's attention in all layers by tag, so that a change of
// options or layer does not resend the weights; draws nothing. Explorers may share a strip, which is dropped with its
// last owner.

import { drop, keep, tell } from './kit/bus.js';

export default function explorerStored({ root, onUnmount }) {
  root.style.height = '0';
  let current = null;
  onUnmount(() => drop('strip', current, root));
  return function update({ header, arrays }) {
    const { group, tag } = header;
    if (group !== undefined) {
      keep('options', group, root, header);
      tell('options', root, header);
    } else if (tag !== current) {
      keep('strip', tag, root, arrays);
      drop('strip', current, root);
      current = tag;
      tell('strip', root, { tag });
    }
  };
}
