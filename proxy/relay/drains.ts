/** Answers that are read on after their client has left: bounded in number and in time. */
export class Drains {
  readonly #max: number;
  readonly #ms: number;
  #count = 0;

  constructor(bounds: { readonly max: number; readonly ms: number }) {
    this.#max = bounds.max;
    this.#ms = bounds.ms;
  }

  get count(): number {
    return this.#count;
  }

  /** Takes a place and returns how to give it back; null when all are taken. `onTimeUp` is called past the time. */
  begin(onTimeUp: () => void): (() => void) | null {
    if (this.#count >= this.#max) return null;
    this.#count++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#count--;
      clearTimeout(timer);
    };
    const timer = setTimeout(() => {
      end();
      onTimeUp();
    }, this.#ms);
    return end;
  }
}
