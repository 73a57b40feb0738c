import type { AccountEvent } from '../../../contracts/events.ts';

/** A life whose last event gives something back, under an id that operators of before could choose, and none of today can. */
export function restoredAs(life: readonly AccountEvent[], restorationId: string): AccountEvent[] {
  const event = life.at(-1);
  if (event?.type !== 'GrantRestored') throw new Error('nothing is given back last');
  return [...life.slice(0, -1), { ...event, data: { ...event.data, restorationId } }];
}
