import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { commandId, uuidV7 } from '../../../contracts/ids.ts';
import { Prints, repeatedPrints } from '../../../ledger/audit/once-only.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  opened,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { faultsOf as faultsOfLife } from './account-faults.ts';
import { faultsOf, isAt, ledger, put } from './damaged-ledger.ts';

const ada = (revision: number) => ['account-acct_ada', revision] as const;
const upTo = (last: number) =>
  ledger.filter(({ stream, revision }) => stream !== 'account-acct_ada' || revision <= last);

it('tells of a usage that its stream ends with, and that a debit is due for', () => {
  expect(faultsOf(upTo(21))).toEqual([
    expect.stringMatching(/^account-acct_ada 21: req_\w+: charged for, and without a debit$/),
  ]);
});

it('tells of a threshold that the last debit of a stream has crossed', () => {
  expect(faultsOf(upTo(53))).toEqual([
    expect.stringMatching(/^account-acct_ada 53: a threshold is crossed, and nothing tells of it: /),
  ]);
});

it('tells of an event that stands in the log before the one that it follows in its account', () => {
  const at = ledger.find((event) => isAt(event, ada(19)))?.position;
  expect(faultsOf(put(ada(20), () => ({ position: 1 as never })))).toEqual([
    `account-acct_ada 20: position 1 follows ${at}`,
  ]);
});

it('tells of a revision that is missing in a stream of no account', () => {
  const [without] = [ledger.filter((event) => !isAt(event, ['catalog', 0]))];
  expect(faultsOf(without)).toContain('catalog 1: revision 1 follows -1');
});

it('goes on behind an event that cannot be read, where it stands', () => {
  const revoked = ledger.find(({ type }) => type === 'ApiKeyRevoked')?.revision ?? -1;
  expect(faultsOf(put(ada(revoked), () => ({ data: '{}' })))).toEqual([
    expect.stringMatching(`^account-acct_ada ${revoked}: cannot be read: `),
  ]);
});

it('tells of an exception that is dropped at another amount than was left out', () => {
  const capped = lifeWith([opened, keyIssued(), granted('g1', 1_000)], usageOf(1, 10, { hold: usd(4) }));
  const ending = { type: 'DropException', requestId: requestOf(1), reason: 'agreed', actor: 'operator' } as const;
  const dropped = given(...capped).decided(ending);
  expect(faultsOfLife([...capped, ...dropped])).toEqual([]);
  const more = dropped.map((event) => ({ ...event, data: { ...event.data, amount: usd(7) } }) as AccountEvent);
  expect(faultsOfLife([...capped, ...more])).toEqual([
    expect.stringMatching(/^req_\w+: what is dropped is 0\.000007 USD, should be 0\.000006 USD$/),
  ]);
});

it('burns of grants that have all else in common the one whose id is the first', () => {
  const life = [opened, keyIssued(), granted('b', 5), granted('a', 5)];
  expect(faultsOfLife(lifeWith(life, usageOf(1, 5), usageOf(2, 3)))).toEqual([]);
});

it('goes on where an event of another type stands among catalogs', () => {
  const [other] = encodeEvents([exampleOf('ProxyClaimed')], {
    commandId: commandId(uuidV7(Date.UTC(2026, 10, 22, 3), new Uint8Array(10))),
    ...{ actor: 'gateway', recordedAt: '2026-11-22T03:00:00.000Z' },
  });
  expect(faultsOf(put(['catalog', 1], () => other ?? {}))).toContain('catalog 1: ProxyClaimed does not belong there');
});

it('takes of a debit that cannot name all grants what it can name, and the rest as owed', () => {
  const many = Array.from({ length: 100 }, (_, number) => granted(`${1_000 + number}${'g'.repeat(1_990)}`, 5));
  const faults = faultsOfLife(lifeWith([opened, keyIssued(), ...many], usageOf(1, 500)));
  expect(new Set(faults.map((fault) => fault.replace(/^\d+g+: /, '')))).toEqual(
    new Set(['one more than a debit could name']),
  );
});

it('keeps what must stand once of however many there are', () => {
  const [one, other] = [new Prints(), new Prints()];
  for (let at = 0; at < 5_000; at++) one.add(`id ${at}`);
  for (const text of ['id 4999', 'id 2047', 'another']) other.add(text);
  expect(repeatedPrints([one.all()]).size).toBe(0);
  expect(one.all()).toHaveLength(5_000);
  expect(repeatedPrints([one.all(), other.all()]).size).toBe(2);
});
