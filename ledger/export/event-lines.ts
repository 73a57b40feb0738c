import { decodeRecordedAt } from '../../contracts/event-codec.ts';
import type { EventPages, Period } from './book-entries.ts';
import { exactEventLine } from './exact-event-line.ts';

/** The events themselves, a line each. @throws UnreadableEventError where it has to be known when one was written down */
export async function* eventLines(
  pages: EventPages,
  { from, to }: Period,
): AsyncGenerator<string, { readonly entries: number }, undefined> {
  const isWhole = from === null && to === null;
  let entries = 0;
  for await (const page of pages) {
    let lines = '';
    for (const recorded of page) {
      if (!isWhole) {
        const recordedAt = decodeRecordedAt(recorded);
        if ((from !== null && recordedAt < from) || (to !== null && recordedAt >= to)) continue;
      }
      entries++;
      lines += exactEventLine(recorded);
    }
    yield lines;
  }
  return { entries };
}
