import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { ownerOf } from '../../../ledger/account/members.ts';
import { monthOf } from '../../../ledger/account/month.ts';
import { MonthBooks } from '../../../ledger/report/month-books.ts';
import { SealCoverage } from '../../../ledger/report/seal-coverage.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { granted } from '../../fixtures/ledger/example-account.ts';
import {
  BEN,
  memberAdded,
  memberRemoved,
  OWNER,
  organization,
  roleChanged,
} from '../../fixtures/ledger/example-organization.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

type Life = Parameters<typeof recordedLife>[0];

function accountsOf(month: string, events: Life) {
  const books = new MonthBooks(month, new SealCoverage(month));
  for (const event of recordedLife(events)) books.take(event);
  return books.result().accounts;
}

it('tells an account by the e-mail of its owner, as account show does, as of the month’s end', () => {
  const [october, november, december] = ['10', '11', '12'].map((month) => Date.parse(`2026-${month}-15T10:00:00.000Z`));
  const at = (atMs = 0, ...events: readonly AccountEvent[]): Life => events.map((event) => ({ event, atMs }));
  const events = [
    ...at(october, organization, granted('g', 100), memberAdded(), memberAdded('Eve@example.com')),
    ...at(november, roleChanged(BEN, 'owner'), memberRemoved(OWNER)),
    ...at(december, roleChanged('eve@example.com', 'owner'), memberRemoved(BEN)),
  ];
  for (const [month, email] of [
    ['2026-10', OWNER],
    ['2026-11', BEN],
    ['2026-12', 'Eve@example.com'],
  ] as const) {
    expect(accountsOf(month, events)).toMatchObject([{ email }]);
    const account = fold(events.filter((one) => monthOf(one.atMs) <= month).map(({ event }) => event));
    expect(account.type === 'open' ? ownerOf(account) : null).toBe(email);
  }
});
