import { z } from 'zod';
import type { EventLog, RecordedEvent } from '../../contracts/event-log.ts';
import { type LedgerId, revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { jsonOf } from '../../contracts/json-object.ts';
import { CopyProcess } from './copy-process.ts';
import { SEAL_LIMITS } from './limits.ts';

/** A line of a copy: as `gateway ledger events --json` has it, without the position, which is the log's own. */
const sealLine = ({ stream, revision, id, type, data, metadata }: RecordedEvent): string =>
  `${JSON.stringify({ stream, revision, id, type }).slice(0, -1)},"data":${data},"metadata":${metadata}}\n`;

const copiedLine = z.looseObject({
  stream: z.literal(SEALS_STREAM),
  revision: z.int().min(0).transform(revision),
  data: z.unknown(),
});
type CopiedLine = z.infer<typeof copiedLine>;

interface SealCopiesOptions {
  readonly log: EventLog;
  readonly to: string;
  readonly ledgerId: LedgerId;
  /** For the place to answer, each time that something is asked of it. */
  readonly answersWithinMs: number;
}

/**
 * The stream `seals` written once more where somebody else keeps it: a file to which lines are only added, so that it may be
 * one that its writer can add to and nobody can cut. A folder gets a file named for the ledger.
 */
export class SealCopies {
  readonly #options: SealCopiesOptions;
  #writing: CopyProcess | null = null;
  #answersWithinMs: number;

  constructor(options: SealCopiesOptions) {
    this.#options = options;
    this.#answersWithinMs = options.answersWithinMs;
  }

  /**
   * Adds what the file lacks; on disk when it resolves. One call at a time.
   * @throws EventLogError; Error where the place cannot be written, does not answer, or ends with what this ledger has not
   */
  async add(): Promise<void> {
    for (let isMore = true; isMore; ) isMore = await this.#addPage();
  }

  /** The gateway ends: from now on the place has a moment. */
  hurry(): void {
    this.#answersWithinMs = Math.min(SEAL_LIMITS.copyCloseMs, this.#answersWithinMs);
    this.#writing?.answerWithin(this.#answersWithinMs);
  }

  async #addPage(): Promise<boolean> {
    const { log, to, ledgerId } = this.#options;
    const { copyTailBytes, sealsAheadMax } = SEAL_LIMITS;
    const args = [to, `seals-${ledgerId}.ndjson`, String(copyTailBytes)];
    const writing = await CopyProcess.start(args, () => this.#answersWithinMs);
    this.#writing = writing;
    try {
      const tail = await writing.tail();
      const last = lastLineIn(tail);
      const page = { from: revision(last?.revision ?? 0), limit: sealsAheadMax };
      const events = await Array.fromAsync(log.readStream(SEALS_STREAM, page));
      const isMore = events.length === sealsAheadMax;
      if (last !== null && !isCopyOf(last, events.shift()))
        throw new Error(
          `what it ends with, revision ${last.revision} of the stream ${SEALS_STREAM}, is not in this ledger: it is a copy ` +
            "of another ledger's seals, or this one was cut or written anew since (`gateway ledger verify --seals --anchor` says)",
        );
      // What a full disk has cut stays as it is, and is not gone on with.
      const cut = tail === '' || tail.endsWith('\n') ? '' : '\n';
      await writing.add(events.length === 0 ? '' : cut + events.map(sealLine).join(''));
      return isMore;
    } finally {
      writing.end();
      this.#writing = null;
    }
  }
}

function lastLineIn(tail: string): CopiedLine | null {
  for (const line of tail.split('\n').reverse()) {
    const found = copiedLine.safeParse(jsonOf(line));
    if (found.success) return found.data;
  }
  return null;
}

const isCopyOf = (line: CopiedLine, event: RecordedEvent | undefined): boolean =>
  event !== undefined && JSON.stringify(line.data) === JSON.stringify(jsonOf(event.data));
