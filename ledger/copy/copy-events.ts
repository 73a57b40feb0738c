import { type AppendResult, type EventLog, isLogAway, type ReadableLog } from '../../contracts/event-log.ts';
import { type Position, type Revision, revision } from '../../contracts/ids.ts';
import { BackOff } from '../back-off.ts';
import { type AppendRun, appendRuns } from './append-runs.ts';
import { CopyError } from './copy-error.ts';
import { COPY_LIMITS } from './limits.ts';

interface CopyOptions {
  /** Of the source, exclusive: what the target has already; null is nothing. */
  readonly after: Position | null;
  /** Appends that the target is given together: more than one only where it writes all of them or none, in their order. */
  readonly atOnce: number;
  readonly onCopied: (events: number, last: Position) => void;
}

/**
 * Appends to the target what the source has, in the source's order and at its revisions, with its ids: what is done again
 * finds itself done. Whatever its length, some megabytes of it are held. Answers with the place of the last event in the
 * source.
 * @throws CopyError; EventLogError where a log does not answer, or refuses
 */
export async function copyEvents(
  source: Pick<ReadableLog, 'readAll'>,
  target: EventLog,
  { after, atOnce, onCopied }: CopyOptions,
): Promise<Position | null> {
  const writer = new InOrder(target);
  let reached = after;
  let writing: Promise<void> = Promise.resolve();
  for await (const runs of appendRuns(source.readAll({ after }), atOnce)) {
    // The next is read while the one before is written.
    await writing;
    writing = writer.write(runs).then(() => {
      const last = runs.at(-1)?.events.at(-1)?.position;
      if (last === undefined) return;
      reached = last;
      onCopied(
        runs.reduce((events, run) => events + run.events.length, 0),
        last,
      );
    });
    // Where the reading fails, nobody awaits it.
    writing.catch(() => undefined);
  }
  await writing;
  return reached;
}

/** Appends in order, which their positions in the target have to show. */
class InOrder {
  readonly #target: EventLog;
  #last = -1;

  constructor(target: EventLog) {
    this.#target = target;
  }

  async write(runs: readonly AppendRun[]): Promise<void> {
    const answers = await Promise.allSettled(runs.map((run) => this.#append(run)));
    const isDone = answers.every(({ status }) => status === 'fulfilled');
    for (const [index, run] of runs.entries()) {
      const answer = answers[index];
      // From the first that was not answered on one by one: each is done again, and finds out what became of it.
      const result = isDone && answer?.status === 'fulfilled' ? answer.value : await this.#appendUntilAnswered(run);
      this.#take(run, result);
    }
  }

  #append({ stream, events }: AppendRun): Promise<AppendResult> {
    return this.#target.append(stream, expectedBefore(events[0]?.revision), events);
  }

  async #appendUntilAnswered(run: AppendRun): Promise<AppendResult> {
    const backOff = new BackOff({ firstMs: 50, maxMs: COPY_LIMITS.pauseMsMax });
    for (;;) {
      try {
        return await this.#append(run);
      } catch (error) {
        if (!isLogAway(error) || backOff.tries >= COPY_LIMITS.tries) throw error;
      }
      await backOff.wait(new AbortController().signal);
    }
  }

  #take({ stream, events }: AppendRun, result: AppendResult): void {
    const [first] = events;
    if (result.type === 'conflict')
      throw new CopyError(
        `the target has ${stream} up to revision ${result.actualRevision}, and not the source's event at revision ` +
          `${first?.revision}: somebody else writes to it, or it is of another ledger`,
      );
    if (result.position <= this.#last)
      throw new CopyError(
        `the target has ${stream} revision ${first?.revision} before events that stand before it in the source: its order is ` +
          'another one, for good. Begin again with an empty target',
      );
    this.#last = result.position;
  }
}

const expectedBefore = (first: Revision | undefined): Revision => revision((first ?? 0) - 1);
