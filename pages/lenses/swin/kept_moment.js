// A moment that the address keeps: the view tells the server, whose answer must not move the view again.

export class KeptMoment {
  constructor(send) {
    Object.assign(this, { send, open: [], last: null });
  }

  /** Send a moment, unless it was sent last. */
  tell(moment) {
    if (moment === this.last) return;
    this.last = moment;
    this.open.push(moment);
    this.send(moment);
  }

  /** Return true if the server's moment answers one of this view, whose earlier ones it then answers too. */
  isAnswer(moment) {
    const place = this.open.lastIndexOf(moment);
    this.open.splice(0, place + 1);
    if (place < 0) this.last = moment;
    return place >= 0;
  }
}
