/** Times as FOCUS has them: whole seconds of UTC, ends exclusive. Most are those of the time before: they are made once. */
export class FocusTimes {
  #month = '';
  #ofMonth: readonly [start: string, end: string] = ['', ''];
  #second = '';
  #nextSecond = '';

  /** The month of an RFC 3339 instant in UTC. */
  monthOf(instant: string): readonly [start: string, end: string] {
    const month = instant.slice(0, 7);
    if (month !== this.#month) {
      this.#month = month;
      const startMs = Date.parse(`${month}-01T00:00:00Z`);
      const end = new Date(startMs);
      end.setUTCMonth(end.getUTCMonth() + 1);
      this.#ofMonth = [toSecond(startMs), toSecond(end.getTime())];
    }
    return this.#ofMonth;
  }

  /** What both instants are in, a second at least. */
  periodOf(from: string, to = from): readonly [start: string, end: string] {
    const start = secondOf(from);
    const end = to.endsWith('.000Z') ? secondOf(to) : this.#after(secondOf(to));
    return [start, end > start ? end : this.#after(start)];
  }

  #after(second: string): string {
    if (second !== this.#second) {
      this.#second = second;
      this.#nextSecond = toSecond(Date.parse(second) + 1_000);
    }
    return this.#nextSecond;
  }
}

const secondOf = (instant: string): string => `${instant.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`;
const toSecond = (ms: number): string => secondOf(new Date(ms).toISOString());
