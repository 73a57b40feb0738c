import { decodeMetadata } from '../../contracts/event-codec.ts';
import type { Events, Period } from './book-entries.ts';
import { exactEventLine } from './exact-event-line.ts';

/** The events themselves, a line each. @throws UnreadableEventError where it has to be known when one was written down */
export async function* eventLines(
  events: Events,
  { from, to }: Period,
): AsyncGenerator<string, { readonly entries: number }, undefined> {
  const isWhole = from === null && to === null;
  let entries = 0;
  for await (const recorded of events) {
    if (!isWhole) {
      const { recordedAt } = decodeMetadata(recorded);
      if ((from !== null && recordedAt < from) || (to !== null && recordedAt >= to)) continue;
    }
    entries++;
    yield exactEventLine(recorded);
  }
  return { entries };
}
