import { expect, it } from 'vitest';
import { AccountAudit } from '../../../ledger/audit/account-audit.ts';
import { ACCOUNT, ms, opened } from '../../fixtures/ledger/example-account.ts';
import { CORRECTIONS, REVERSALS } from '../../fixtures/ledger/example-corrections.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';

it.each([...CORRECTIONS, ...REVERSALS])('tells where $type says another actor than what stands beside it', (event) => {
  const actorsTold = (actor?: string): string[] => {
    const audit = new AccountAudit(ACCOUNT, () => 'none');
    for (const recorded of recordedLife(
      [opened, event as typeof opened].map((one) => ({ event: one, atMs: ms('2026-11-20T10:00:00.000Z') })),
    )) {
      const metadata = { ...JSON.parse(recorded.metadata), ...(actor === undefined ? {} : { actor }) };
      audit.take({ ...recorded, data: JSON.parse(recorded.data), metadata });
    }
    return audit.books.faults
      .filter(({ what }) => what.startsWith('who caused'))
      .map(({ found, expected }) => `${found}, ${expected}`);
  };
  expect(actorsTold()).toEqual([]);
  expect(actorsTold('mallory')).toEqual(['mallory, operator']);
});
