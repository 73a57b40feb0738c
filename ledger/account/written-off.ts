import type { AccountEvent, EventData } from '../../contracts/events.ts';

/** What events write off of a grant that one of these requests may burn yet, for it began before the grant's end; null where they do not. */
export function writtenOffTooSoon(
  events: readonly AccountEvent[],
  startsMs: readonly number[],
): EventData<'CreditsExpired'> | null {
  for (const event of events)
    if (event.type === 'CreditsExpired' && startsMs.some((startMs) => startMs < Date.parse(event.data.expiredAt)))
      return event.data;
  return null;
}

export const writesOff = (events: readonly AccountEvent[]): boolean =>
  events.some(({ type }) => type === 'CreditsExpired');
