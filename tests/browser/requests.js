// What a page has requested from Streamlit's server and what the server has finished, so that a test can wait for the
// answer to a click: until the run begins, the page still shows that nothing runs.
// A request counts as answered once a run has ended that began after it. Polls ask by themselves and do not count.
(() => {
  const RERUN = 11; // the numbers of fields in Streamlit's BackMsg, ClientState and ForwardMsg
  const IS_POLL = 6;
  const BEGUN = 4;
  const FINISHED = 6;
  const CUT_SHORT = 2; // by a newer request
  const state = (window[Symbol.for('vitviz.requests')] = { requested: 0, begun: 0, answered: 0, waiting: 0 });

  /** Return a message's fields by number: bytes, or a number. */
  function fieldsOf(bytes) {
    const fields = new Map();
    let at = 0;
    const number = () => {
      let value = 0;
      for (let scale = 1; ; scale *= 128) {
        value += (bytes[at] & 127) * scale;
        if (bytes[at++] < 128) return value;
      }
    };
    while (at < bytes.length) {
      const tag = number();
      const value = number();
      const isBytes = tag % 8 === 2;
      fields.set(Math.floor(tag / 8), isBytes ? bytes.subarray(at, at + value) : value);
      if (isBytes) at += value;
    }
    return fields;
  }

  window.WebSocket = class extends WebSocket {
    constructor(...args) {
      super(...args);
      Object.assign(state, { requested: 0, begun: 0, answered: 0, waiting: 0 });
      this.addEventListener('message', ({ data }) => {
        if (!(data instanceof ArrayBuffer)) return;
        const fields = fieldsOf(new Uint8Array(data));
        if (fields.has(BEGUN)) state.begun = performance.now();
        if (fields.has(FINISHED) && fields.get(FINISHED) !== CUT_SHORT) state.answered = state.begun;
      });
    }

    send(data) {
      const rerun = data instanceof Uint8Array && fieldsOf(data).get(RERUN);
      if (!rerun || fieldsOf(rerun).get(IS_POLL)) return super.send(data);
      state.waiting++;
      const send = () => {
        state.waiting--;
        state.requested = performance.now();
        super.send(data);
      };
      if (window.requestDelayMs) setTimeout(send, window.requestDelayMs);
      else send();
    }
  };
})();
