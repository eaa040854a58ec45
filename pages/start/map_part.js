// Pass the message of an opened part to the map; this view draws nothing.

import { drop, keep, tell } from '../../vitviz/browser/kit/bus.js';

export default function part({ root, onUnmount }) {
  let name = '';
  onUnmount(() => drop('part', name, root));
  return (message) => {
    name = message.header.map;
    keep('part', name, root, message);
    tell('part', root, message);
  };
}
