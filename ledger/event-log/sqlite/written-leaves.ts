import type { LeafPage } from '../../../contracts/event-log.ts';
import { type EventId, position, revision, SEALS_STREAM, type StreamName } from '../../../contracts/ids.ts';
import { LeafHasher } from '../../seals/leaf.ts';
import { LeafPageOf } from '../../seals/leaf-page.ts';
import type { Digest } from '../../seals/merkle.ts';
import { SQLITE_LIMITS } from './limits.ts';
import {
  APPENDED,
  type AppendedGroup,
  type AppendGroup,
  FIELDS_BEFORE_EVENTS,
  FIELDS_PER_EVENT,
  FIELDS_PER_OUTCOME,
  type LeavesQuery,
} from './messages.ts';

/** Leaves of events that stand right behind one another, none of them of the stream `seals`. */
interface Run {
  firstPosition: number;
  /** Events of the stream `seals` before it: what an ordinal is behind its position. */
  readonly sealEvents: number;
  /** Behind one another: as so many texts they would be moved about by each collection of garbage. */
  leaves: string;
}

const LEAF_CHARS = 32;

/**
 * Leaf hashes of what was written of late, made of the text that the writer has in its hands: whoever seals close behind the
 * head does not read from the file again what is still there, which costs twice the hashing. It answers only for events that
 * it has seen written one behind another since it was asked last; for all others, which another process wrote or that are
 * further behind, it has nothing, and the file is read. For nobody nothing is hashed.
 */
export class WrittenLeaves {
  readonly #hasher = new LeafHasher();
  #asked: Pick<LeavesQuery, 'after' | 'ordinal'> | null = null;
  #runs: Run[] = [];
  /** Of the last run, not put behind its leaves yet. */
  #fresh: Digest[] = [];

  /** Takes what a group's commit has written; called behind its answer, so that it stands before no append's. */
  add(group: AppendGroup, answer: AppendedGroup): void {
    if (answer.type !== 'committed') return;
    const { outcomes } = answer;
    for (let at = 0, outcome = 0; at < group.length && this.#asked !== null; outcome += FIELDS_PER_OUTCOME) {
      const events = Number(group[at + 1]);
      const [lastRevision, lastPosition] = [outcomes[outcome + 1] ?? 0, outcomes[outcome + 2] ?? 0];
      if (outcomes[outcome] === APPENDED) this.#addAppend(group, at, { events, lastRevision, lastPosition });
      at += FIELDS_BEFORE_EVENTS + events * FIELDS_PER_EVENT;
    }
    this.#putFresh();
  }

  /** The leaves from there on, as far as they are known; null where the first of them is not. */
  page(query: LeavesQuery): LeafPage | null {
    this.#asked = query;
    const first = query.after + 1;
    while (this.#runs.length > 1 && endOf(this.#runs[0] as Run) <= first) this.#runs.shift();
    const [run] = this.#runs;
    if (run === undefined || run.firstPosition > first || endOf(run) === first) return null;
    // Another process has written what stands behind it; or a seal before it, of which nobody knew when it was numbered.
    if (endOf(run) < first || query.after - query.ordinal !== run.sealEvents) {
      this.#runs = [];
      return null;
    }
    run.leaves = run.leaves.slice((first - run.firstPosition) * LEAF_CHARS);
    run.firstPosition = first;
    const page = new LeafPageOf(query);
    const end = Math.min(first + query.limit, endOf(run));
    for (let at = first; at < end; at++) page.append(leafAt(run, at), position(at));
    return page.page(this.#runs.length === 1 && end === endOf(run));
  }

  #addAppend(group: AppendGroup, at: number, { events, lastRevision, lastPosition }: WrittenAppend): void {
    const run = this.#runFrom(lastPosition - events + 1, lastPosition);
    if (run === null) return;
    const stream = group[at + 2] as StreamName;
    if (stream === SEALS_STREAM) {
      this.#putFresh();
      this.#runs.push({ firstPosition: lastPosition + 1, sealEvents: run.sealEvents + events, leaves: '' });
      return;
    }
    const ordinal = lastPosition - events - run.sealEvents;
    for (let index = 0; index < events; index++) {
      const field = at + FIELDS_BEFORE_EVENTS + index * FIELDS_PER_EVENT;
      const [id, type, data, metadata] = [group[field], group[field + 1], group[field + 2], group[field + 3]] as Texts;
      const event = { stream, revision: revision(lastRevision - events + 1 + index), id, type, data, metadata };
      this.#fresh.push(this.#hasher.hash(event, ordinal + index));
    }
  }

  /** The run that these positions go on; null where they go on none, or nobody follows closely any more. */
  #runFrom(first: number, last: number): Run | null {
    if (this.#asked === null) return null;
    const { after, ordinal } = this.#asked;
    if (this.#runs.length === 0) this.#runs.push({ firstPosition: first, sealEvents: after - ordinal, leaves: '' });
    const run = this.#runs.at(-1) as Run;
    if (endOf(run) + this.#fresh.length === first && last - after <= SQLITE_LIMITS.leavesKeptMax) return run;
    this.#asked = null;
    this.#runs = [];
    return null;
  }

  #putFresh(): void {
    const run = this.#runs.at(-1);
    if (run !== undefined) run.leaves += this.#fresh.join('');
    this.#fresh = [];
  }
}

interface WrittenAppend {
  readonly events: number;
  readonly lastRevision: number;
  readonly lastPosition: number;
}

type Texts = [id: EventId, type: string, data: string, metadata: string];

const endOf = ({ firstPosition, leaves }: Run): number => firstPosition + leaves.length / LEAF_CHARS;

function leafAt({ firstPosition, leaves }: Run, at: number): Digest {
  const from = (at - firstPosition) * LEAF_CHARS;
  return leaves.slice(from, from + LEAF_CHARS) as Digest;
}
