import { expect, it } from 'vitest';
import { ledgerPlace } from '../../../ledger/event-log/ledger-place.ts';

const SECRET = 'hunter2-hunter2';
const placeOf = (connectionString: string, streamPrefix = ''): string =>
  ledgerPlace({ data: '/data', eventLog: { kind: 'eventstoredb', connectionString, streamPrefix } });

it.each([
  ['esdb://localhost:2113?tls=false', 'EventStoreDB at localhost:2113'],
  [`esdb+discover://proxy:${SECRET}@log.example/?tls=true`, 'EventStoreDB at log.example'],
  [`esdb://proxy:${SECRET}?1@a:1?tls=false`, 'EventStoreDB at a:1'],
  [` esdb://proxy:${SECRET}@a:1,b:2,[::1]:3?nodePreference=leader`, 'EventStoreDB at a:1, b:2, [::1]:3'],
])('the place of %s is %s', (connectionString, place) => {
  expect(placeOf(connectionString)).toBe(place);
  expect(placeOf(connectionString, 'gateway-')).toBe(`${place}, its streams under the prefix "gateway-"`);
});

it.each([
  `esdb://proxy:${SECRET}?@host`,
  `esdb://proxy/${SECRET}@host`,
  `esdb://proxy:7?${SECRET}@host`,
  `esdb://p@${SECRET}@host`,
  `esdb://proxy:p@host?x=${SECRET}`,
])('no secret stands in the place of %s', (connectionString) => {
  expect(placeOf(connectionString)).not.toContain(SECRET);
});

it('the place of an embedded ledger is its file', () => {
  expect(ledgerPlace({ data: '/data', eventLog: { kind: 'sqlite' } })).toBe('/data/ledger.db');
});
