import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM } from '../../../contracts/ids.ts';
import { EventSums } from '../../../projections/rebuild/event-sums.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { exampleLives, writeLives } from '../example-ledger.ts';

test('a debit comes to the same by its text as by its form', () => {
  const log = new MemoryEventLog();
  writeLives(log, exampleLives(40), 0, 1_000);
  const debits = log.events.filter(({ type }) => type === 'CreditsDebited');
  const has = (pattern: RegExp): number => debits.filter(({ data }) => pattern.test(data)).length;
  expect(has(/"leftOut":"[1-9]/)).toBeGreaterThan(0);
  expect(has(/"tokenClass".*"tokenClass"/)).toBeGreaterThan(0);
  expect(has(/"grants":\[\{/)).toBeGreaterThan(0);
  const written = sumsOf(log.events);
  // No program writes it so, and each reads it.
  const spaced = sumsOf(log.events.map((event) => ({ ...event, data: ` ${event.data}` })));
  expect(written.accounts.size).toBe(40);
  expect(written).toEqual(spaced);
});

test('of an older form a debit is what its form says', () => {
  const log = new MemoryEventLog();
  writeLives(log, exampleLives(40), 0, 1_000);
  const debit = log.events.find(({ data }) => /"leftOut":"[1-9]/.test(data)) ?? expect.fail('nothing is left out');
  const first = { ...debit, metadata: debit.metadata.replace(/"schemaVersion":\d+/, '"schemaVersion":1') };
  // Which had no such field: what says so is not read.
  const without = { ...debit, data: debit.data.replace(/"leftOut":"\d+"/, '"leftOut":"0"') };
  expect(sumsOf([first]).accounts).toEqual(sumsOf([without]).accounts);
});

test('of the catalog, too, one that is lacking is found', () => {
  const log = new MemoryEventLog();
  writeLives(log, exampleLives(1), 0, 2);
  const catalog = log.events.map((event): RecordedEvent => ({ ...event, stream: CATALOG_STREAM }));
  expect([sumsOf(catalog).isWhole, sumsOf(catalog.slice(1)).isWhole]).toEqual([true, false]);
});

function sumsOf(events: readonly RecordedEvent[]): EventSums {
  const sums = new EventSums();
  for (const event of events) sums.add(event);
  return sums;
}
