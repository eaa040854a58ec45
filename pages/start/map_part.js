// The answer for an opened part of the map travels alone: this view hands it to the map and shows nothing.

import { drop, keep, tell } from '../views/kit/bus.js';

export default function part({ root, onUnmount }) {
  let name = '';
  onUnmount(() => drop('part', name, root));
  return (message) => {
    name = message.header.map;
    keep('part', name, root, message);
    tell('part', root, message);
  };
}
