// Limit a view's requests to the server: at once when a drag ends, and one at a time during it.

const REST_MS = 90; // between two requests during a drag

export class RequestQueue {
  /** `send` sends the current state; `onUnmount` is the view's. */
  constructor(send, onUnmount) {
    Object.assign(this, { send, timer: 0, waiting: false, outdated: false });
    onUnmount(() => clearTimeout(this.timer));
  }

  sendNow() {
    clearTimeout(this.timer);
    Object.assign(this, { timer: 0, waiting: true, outdated: false });
    this.send();
  }

  /** Sends a moving state soon, or once the response to the running request has arrived. */
  sendSoon() {
    this.outdated = true;
    if (!this.waiting && !this.timer) this.timer = setTimeout(() => this.sendNow(), REST_MS);
  }

  /** Handles a response; sends what moved meanwhile. */
  receive() {
    this.waiting = false;
    if (this.outdated) this.sendNow();
  }
}
