// The engine in a Worker, so that the page stays responsive; client.js talks to it.

import { answer } from './answer.js';

self.onmessage = ({ data: { id, ...request } }) => {
  try {
    const { reply, transfer } = answer(request);
    self.postMessage({ id, reply }, transfer);
  } catch (error) {
    self.postMessage({ id, error: String(error.message) });
  }
};
