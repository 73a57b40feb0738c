import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  ms,
  OTHER_KEY,
  opened,
  requestOf,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from './account-faults.ts';

const life = lifeWith(
  [opened, keyIssued(), keyIssued({ keyId: OTHER_KEY }), granted('g1', 1_000)],
  usageOf(1, 400),
  usageOf(2, 400, { keyId: OTHER_KEY }),
);
const debits = life.filter((event) => event.type === 'CreditsDebited' && event.data.requestId === requestOf(1));
const reversed = given(...life).decided({
  ...{ type: 'ReverseDebit', reversalId: 'x1', requestId: requestOf(1), amount: null, debits: debits as never },
  ...{ reason: 'an operator says so', actor: 'operator', nowMs: ms('2026-11-20T10:00:00.000Z') },
});
const saying = (change: Readonly<Record<string, string>>): AccountEvent[] =>
  reversed.map((event) => ({ ...event, data: { ...event.data, ...change } }) as AccountEvent);

it.each([
  ['keyId', OTHER_KEY],
  ['model', 'opal-large'],
  ['lane', 'fast'],
  ['month', '2026-12'],
])('a reversal of another %s than the debit that it names is told', (name, other) => {
  expect(faultsOf([...life, ...reversed])).toEqual([]);
  expect(faultsOf([...life, ...saying({ [name]: other })])).toContainEqual(
    expect.stringMatching(`^x1: the ${name} of its request is ${other}, should be `),
  );
});
