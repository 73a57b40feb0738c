import { expect, it } from 'vitest';
import { EVENT_SCHEMAS, type EventType } from '../../../contracts/events.ts';
import { isIdle } from '../../../ledger/report/event-places.ts';
import { READMES } from '../../source-files.ts';

/** Where each is seen instead, as the folder's README has it. */
const SEEN = new Map(
  [...(READMES.get('ledger/report/README.md') ?? '').matchAll(/^\| (`[A-Z]\w+`(?:, `\w+`)*) \| (.+) \|$/gm)].flatMap(
    ([, types = '', where = '']) => types.match(/\w+/g)?.map((type) => [type, where] as const) ?? [],
  ),
);

it('each event has a place in a month’s books, or the README says where it is seen instead', () => {
  const types = Object.keys(EVENT_SCHEMAS) as EventType[];
  expect([...SEEN.keys()].toSorted()).toEqual(types.filter(isIdle).toSorted());
  for (const [type, where] of SEEN) expect(where, type).toMatch(/`gateway [a-z]+/);
});

it('an event that is not known is not taken for one without a place', () => {
  expect(isIdle('PlanPaused')).toBe(false);
});
