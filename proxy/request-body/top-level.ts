import { COUNTED_FIELDS } from '../../contracts/outside-input.ts';
import type { TopLevelScan } from './json-scan.ts';

/** Where a member of the object on top stands: its key from `from` on, its value from `valueFrom` up to `to` (exclusive). */
interface Member {
  /** Null where it is a run of members that are edited together: none of them has a name that matters. */
  readonly name: string | null;
  readonly from: number;
  readonly valueFrom: number;
  readonly to: number;
}

/** Where the members of a JSON object stand: few, however many it has, so that they can be told from thread to thread. */
export interface TopLevel {
  /** After the object's opening brace. */
  readonly inside: number;
  readonly members: readonly Member[];
}

/** What the gateway sets, removes or leaves alone by its name. */
const EDITED_FIELDS: ReadonlySet<string> = new Set([...COUNTED_FIELDS, 'speed']);

/** Keeps the places of members as a scan comes by them. */
export class TopLevelPlaces {
  readonly #names: ReadonlySet<string>;
  readonly #members: Member[] = [];

  constructor(names: ReadonlySet<string> = EDITED_FIELDS) {
    this.#names = names;
  }

  see(key: string, { keyStart, valueStart, valueEnd }: TopLevelScan): void {
    const name = this.#names.has(key) ? key : null;
    const before = this.#members.at(-1);
    if (name === null && before?.name === null) this.#members[this.#members.length - 1] = { ...before, to: valueEnd };
    else this.#members.push({ name, from: keyStart, valueFrom: valueStart, to: valueEnd });
  }

  of({ inside }: TopLevelScan): TopLevel {
    return { inside, members: this.#members };
  }
}
