import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { noSums } from '../../../ledger/statement/open-months.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { granted, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import type { Case } from './account-faults.ts';

/** Statements that the decider would have refused, and that stand in the stream all the same (refusals.test.ts). */

const NOW = ms('2026-11-20T10:00:00.000Z');
const OF_OCTOBER = { effectiveAt: '2026-10-05T10:00:00.000Z' };

const life = [opened, granted('g1', 1_000, OF_OCTOBER)];
const over = [opened, granted('g1', 1_000, { ...OF_OCTOBER, expiresAt: '2026-10-20T10:00:00.000Z' })];
const sumsOf = (amount: number) =>
  ({ ...noSums(), granted: usd(amount) }) as unknown as CommandOf<'CloseStatement'>['sums'];
const close = (change: Partial<CommandOf<'CloseStatement'>> = {}): AccountCommand => ({
  ...{ type: 'CloseStatement', month: '2026-10', sums: sumsOf(1_000), later: 0n, graceMs: 0, nowMs: NOW },
  ...{ firstRevision: 1, lastRevision: 1 },
  ...change,
});
const closed = given(...life).decided(close());
const withFigures = (change: Readonly<Record<string, unknown>>): AccountEvent[] =>
  closed.map((event) => ({ ...event, data: { ...event.data, ...change } }) as AccountEvent);

export const STATEMENT_CASES = {
  CloseStatement: [
    {
      ...{ refused: 'nothing', life: [...life, ...closed], command: close(), written: closed },
      fault: /^statement of 2026-10: closed behind that of 2026-10$/,
    },
    {
      ...{ refused: 'statement_closed', life: [...life, ...closed], command: close({ month: '2026-09' }) },
      written: withFigures({ month: '2026-09' }),
      fault: /^statement of 2026-09: closed behind that of 2026-10$/,
    },
    {
      ...{ refused: 'month_not_over', life, command: close({ month: '2026-11' }) },
      ...{ written: withFigures({ month: '2026-11' }), fault: /^statement of 2026-11: closed before its end$/ },
    },
    {
      ...{ refused: 'not_written_off', life: over, command: close(), written: closed },
      fault: /^statement of 2026-10: g1 had ended, and was not written down as expired$/,
    },
    {
      ...{ refused: 'account_changed', life, command: close({ sums: sumsOf(999) }) },
      written: withFigures({ granted: usd(999), closing: usd(999) }),
      fault: /^statement of 2026-10: granted is 0\.000999 USD, should be 0\.001000 USD$/,
    },
  ],
} as const satisfies Readonly<Record<string, readonly Case[]>>;
