import type { RecordedEvent } from '../../contracts/event-log.ts';
import { LEDGER_CATEGORIES, type StreamName } from '../../contracts/ids.ts';
import { charsOf } from '../event-log/append-bounds.ts';
import { CopyError } from './copy-error.ts';
import { COPY_LIMITS } from './limits.ts';

/** Events of one stream that stand behind one another in the log. */
export interface AppendRun {
  readonly stream: StreamName;
  readonly events: RecordedEvent[];
}

/** A log's events as appends that make them again in its order: so many of them as may be under way at once. */
export async function* appendRuns(
  events: AsyncIterable<RecordedEvent>,
  atOnce: number,
): AsyncGenerator<readonly AppendRun[]> {
  let runs: AppendRun[] = [];
  let [chars, charsOfRun] = [0, 0];
  for await (const event of events) {
    const own = charsOf(event);
    const run = runs.at(-1);
    const isMore =
      run?.stream === event.stream &&
      run.events.length < COPY_LIMITS.eventsPerAppendMax &&
      charsOfRun + own <= COPY_LIMITS.appendCharsMax;
    if (isMore) run.events.push(event);
    else {
      if (runs.length === atOnce || chars + own > COPY_LIMITS.charsAtOnceMax) {
        if (runs.length > 0) yield runs;
        [runs, chars] = [[], 0];
      }
      runs.push({ stream: ofLedger(event.stream), events: [event] });
      charsOfRun = 0;
    }
    charsOfRun += own;
    chars += own;
  }
  if (runs.length > 0) yield runs;
}

/** What is of no category of a ledger would be somebody else's in an event store, and never be read there. */
function ofLedger(stream: StreamName): StreamName {
  const hyphen = stream.indexOf('-');
  const category = hyphen === -1 ? stream : stream.slice(0, hyphen);
  if (LEDGER_CATEGORIES.some((one) => one === category)) return stream;
  throw new CopyError(`the source has events of ${stream}, which is no stream of a ledger: they cannot be copied`);
}
