// The answer for an opened part of the map travels alone: this view hands it to the map and shows nothing.

import { drop, keep, tell } from '../views/kit/bus.js';

export default function part({ root, onUnmount }) {
  onUnmount(() => drop('part', 'map', root));
  return (message) => {
    keep('part', 'map', root, message);
    tell('part', root, message);
  };
}
