// A moment of the journey: which part it has come to, how far into it, and what of the scene it has reached.

export class Moment {
  /** at: in parts; between 3 and 4 the journey is on its way into part 4. */
  constructor(model, at) {
    const { parts, blocks, outro } = model;
    const count = Math.ceil(at - 1e-6);
    this.model = model;
    this.station = parts[Math.min(parts.length - 1, count)];
    this.share = at === count ? 1 : at - Math.floor(at);
    /** The parts that it has not reached. */
    this.ahead = new Set(parts.slice(count + 1).map(({ id }) => id));
    this.leaving = outro.includes(this.station);
    /** The readout's token is followed, no longer the pinned one. */
    this.readingOut = this.leaving && model.header.readout === 'cls';
    /** The blocks that lie behind it. */
    this.past = this.leaving ? blocks : blocks.slice(0, Math.max(0, blocks.indexOf(this.station)));
  }

  /** How far the stream has come: the part and the share of it; null where it has come all the way. */
  get reach() {
    const { blocks, flow } = this.model;
    if (!blocks.length || this.leaving) return null;
    if (!flow.includes(this.station)) return { id: flow[0].id, share: -1 };
    return { id: this.station.id, share: this.share };
  }
}
