// When a view asks the server: at rest at once, and while something is dragged one question after the other.

const REST_MS = 90; // between two questions while something is dragged

export class Asker {
  /** `ask` sends how things stand; `onUnmount` is the view's. */
  constructor(ask, onUnmount) {
    Object.assign(this, { ask, timer: 0, asking: false, behind: false });
    onUnmount(() => clearTimeout(this.timer));
  }

  now() {
    clearTimeout(this.timer);
    Object.assign(this, { timer: 0, asking: true, behind: false });
    this.ask();
  }

  /** Something moves: asked in a moment, or once the answer that is under way has come. */
  soon() {
    this.behind = true;
    if (!this.asking && !this.timer) this.timer = setTimeout(() => this.now(), REST_MS);
  }

  /** An answer has come; what moved meanwhile is asked now. */
  answered() {
    this.asking = false;
    if (this.behind) this.now();
  }
}
