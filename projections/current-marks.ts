import { VIEW_LIMITS } from './limits.ts';

/** While views are live, their file is told so now and then, also when nothing happens: a restart then knows how old it is. */
export class CurrentMarks {
  readonly #mark: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(mark: () => void) {
    this.#mark = mark;
  }

  start(): void {
    this.stop();
    this.#mark();
    this.#timer = setInterval(this.#mark, VIEW_LIMITS.currentMarkMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
