import type { ReadableLog, RecordedEvent } from '../../../contracts/event-log.ts';
import { brief } from '../../../contracts/printable.ts';
import type { CommandContext } from '../command-context.ts';
import { Progress } from '../progress.ts';

/** The same log; where events of all of it are read, it is told on stderr how far that is. */
export const logWithProgress = (log: ReadableLog, context: CommandContext): ReadableLog => ({
  readStream: (stream, options) => log.readStream(stream, options),
  headPosition: () => log.headPosition(),
  hiddenStreams: async () => (await log.hiddenStreams?.()) ?? [],
  readAll: (options = {}) =>
    told(log.readAll(options), {
      progress: new Progress(context, 'events'),
      after: options.after ?? 0,
      head: () => log.headPosition(),
    }),
});

/** What the log's server hides may be missing in what is made of all events, or will be once the server has destroyed it. */
export async function warnOfHidden(log: ReadableLog, context: CommandContext): Promise<void> {
  for (const { why } of (await log.hiddenStreams?.()) ?? []) context.warn(`warning: ${brief(why)}\n`);
}

interface Telling {
  readonly progress: Pick<Progress, 'add' | 'end'>;
  /** The positions between which the events stand. Only the last is looked up, and only where it takes long. */
  readonly after: number;
  readonly head: () => Promise<number | null>;
}

const EVENTS_A_WORD = 4_096;
/** Few, so that a page is forgotten before anything is made of the next; some of them make a word. */
const PAGE_EVENTS = 64;

type Events = AsyncIterable<RecordedEvent> | Iterable<RecordedEvent>;
type Pages = AsyncIterable<readonly RecordedEvent[]>;

/** The events together: to wait for each of millions takes longer than to read them. */
export async function* inPages(events: Events): AsyncGenerator<readonly RecordedEvent[]> {
  let page: RecordedEvent[] = [];
  // A file is read at once: nothing is waited for.
  if (Symbol.iterator in events) {
    for (const event of events)
      if (page.push(event) === PAGE_EVENTS) {
        yield page;
        page = [];
      }
  } else
    for await (const event of events)
      if (page.push(event) === PAGE_EVENTS) {
        yield page;
        page = [];
      }
  yield page;
}

/** The same pages, told of as they come. How many events there will be is taken from their positions, which may have any step. */
export async function* toldPages(
  pages: Pages,
  { progress, after, head }: Telling,
): AsyncGenerator<readonly RecordedEvent[]> {
  let [count, last]: [number, number | null] = [0, null];
  try {
    for await (const page of pages) {
      yield page;
      count += page.length;
      const newest = page.at(-1);
      if (newest === undefined || count % EVENTS_A_WORD > 0) continue;
      last ??= (await head()) ?? 0;
      const share = (newest.position - after) / Math.max(1, last - after);
      progress.add(EVENTS_A_WORD, Math.round(count / Math.min(1, share)));
    }
  } finally {
    progress.end();
  }
}

export async function* told(events: Events, telling: Telling): AsyncGenerator<RecordedEvent> {
  for await (const page of toldPages(inPages(events), telling)) yield* page;
}
