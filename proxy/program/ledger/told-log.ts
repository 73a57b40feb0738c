import type { ReadableLog, RecordedEvent } from '../../../contracts/event-log.ts';
import type { CommandContext } from '../command-context.ts';
import { Progress } from '../progress.ts';

/** The same log; where events of all of it are read, it is told on stderr how far that is. */
export const toldLog = (log: ReadableLog, context: CommandContext): ReadableLog => ({
  readStream: (stream, options) => log.readStream(stream, options),
  headPosition: () => log.headPosition(),
  readAll: (options = {}) =>
    told(log.readAll(options), {
      progress: new Progress(context, 'events'),
      after: options.after ?? 0,
      head: () => log.headPosition(),
    }),
});

interface Telling {
  readonly progress: Pick<Progress, 'add' | 'end'>;
  /** The positions between which the events stand. Only the last is looked up, and only where it takes long. */
  readonly after: number;
  readonly head: () => Promise<number | null>;
}

const EVENTS_A_WORD = 4_096;

/** The same events, told of as they come. How many there will be is taken from their positions, which may have any step. */
export async function* told(
  events: AsyncIterable<RecordedEvent> | Iterable<RecordedEvent>,
  { progress, after, head }: Telling,
): AsyncGenerator<RecordedEvent> {
  let [count, last]: [number, number | null] = [0, null];
  try {
    for await (const event of events) {
      yield event;
      if (++count % EVENTS_A_WORD > 0) continue;
      last ??= (await head()) ?? 0;
      const share = (event.position - after) / Math.max(1, last - after);
      progress.add(EVENTS_A_WORD, Math.round(count / Math.min(1, share)));
    }
  } finally {
    progress.end();
  }
}
