import { PassingMap } from '../../contracts/passing-map.ts';
import { Tally } from '../tally.ts';

interface TurnsOptions {
  readonly connections: number;
  /** What one account may have of them at once. */
  readonly ofOneMax: number;
  readonly waitingMax: number;
}

interface Waiting {
  /** As it came. */
  readonly number: number;
  readonly of: string;
  readonly begin: (end: () => void) => void;
}

/**
 * Whose call gets a provider's next connection. Accounts take turns, however many calls each has waiting, and none has more
 * than its part of the connections, so that there are some left for whoever comes next. A call whose client leaves leaves
 * the queue, with all that it holds.
 */
export class ConnectionTurns {
  readonly #options: TurnsOptions;
  readonly #taken = new Tally<string>();
  /** By account; the one whose turn is next stands first. */
  readonly #waiting = new PassingMap<string, PassingMap<number, Waiting>>();
  #takenCount = 0;
  #waitingCount = 0;
  #came = 0;
  #isServing = false;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * `begin` is called at once, or when a connection is free for the account; what it is given is to be called when the
   * connection is not needed any more. Returns how to wait no longer: nothing happens to what has begun. Null where too
   * many wait.
   */
  take(of: string, begin: (end: () => void) => void): (() => void) | null {
    const waiting: Waiting = { number: ++this.#came, of, begin };
    // What has been given back is for those that wait already.
    if (!this.#isServing && this.#isFreeFor(of)) {
      this.#begin(waiting);
      return () => undefined;
    }
    if (this.#waitingCount >= this.#options.waitingMax) return null;
    const ofAccount = this.#waiting.get(of) ?? new PassingMap<number, Waiting>();
    ofAccount.set(waiting.number, waiting);
    this.#waiting.set(of, ofAccount);
    this.#waitingCount++;
    return () => this.#forget(waiting);
  }

  #isFreeFor(of: string): boolean {
    const { connections, ofOneMax } = this.#options;
    return this.#takenCount < connections && this.#taken.of(of) < ofOneMax;
  }

  #begin({ of, begin }: Waiting): void {
    this.#takenCount++;
    this.#taken.add(of);
    let isEnded = false;
    begin(() => {
      if (isEnded) return;
      isEnded = true;
      this.#giveBack(of);
    });
  }

  #giveBack(of: string): void {
    this.#takenCount--;
    this.#taken.subtract(of);
    if (this.#waitingCount === 0 || this.#isServing) return;
    // Not from within what has just ended: the connection is free when that has returned.
    this.#isServing = true;
    queueMicrotask(() => {
      this.#isServing = false;
      this.#assign();
    });
  }

  #assign(): void {
    for (const of of this.#waiting.keys()) {
      if (this.#takenCount >= this.#options.connections) return;
      const waiting = this.#waiting.get(of);
      const [first] = waiting ?? [];
      if (waiting === undefined || first === undefined || !this.#isFreeFor(of)) continue;
      this.#forget(first);
      // Its next waits until all others have had their turn.
      if (this.#waiting.delete(of)) this.#waiting.set(of, waiting);
      this.#begin(first);
    }
  }

  #forget(waiting: Waiting): void {
    const ofAccount = this.#waiting.get(waiting.of);
    if (ofAccount?.delete(waiting.number) !== true) return;
    this.#waitingCount--;
    if (ofAccount.size === 0) this.#waiting.delete(waiting.of);
  }
}
