import { type PaymentId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { overdraftOf } from '../../../ledger/account/plan-over.ts';
import { ms, usd } from '../../fixtures/ledger/example-account.ts';
import { AT, asks, END, type Life, life, online } from './plan-life.ts';

/* What was paid for a period of a plan, and goes back. */

export const MID = '2026-12-15T10:00:00.000Z';
export const LATER = '2026-12-20T10:00:00.000Z';
export const OVERDRAFT = 20_000_000n;
export const TEAM_PRICE = 200_000_000;
export const onTeam = (): Life => life().does(asks('team')).pays(AT);
export const FIRST = paymentId(`pi_${AT}`);
const SAID = { actor: 'operator', reason: 'as agreed', nowMs: ms(MID) };

export const refund = (amount: number, refundId = 're_1', of: PaymentId = FIRST): AccountCommand => ({
  ...{ type: 'RecordRefund', paymentId: of, refundId, amount: usd(amount), refundedAtMs: ms(MID), ...SAID },
});
export const withdraw = (refundId = 're_1'): AccountCommand => ({
  ...{ type: 'WithdrawRefund', paymentId: FIRST, refundId, ...SAID },
});
export const dispute = (amount = TEAM_PRICE): AccountCommand => ({
  ...{ type: 'RecordDispute', paymentId: FIRST, disputeId: 'dp_1', amount: usd(amount), openedAtMs: ms(MID), ...SAID },
});
export const close = (outcome: 'won' | 'lost'): AccountCommand => ({
  ...{ type: 'CloseDispute', paymentId: FIRST, disputeId: 'dp_1', outcome, closedAtMs: ms(MID), ...SAID },
});
export const lent = (one: Life, at = LATER): bigint => overdraftOf(one.state, ms(at));
export const atEnd = (one: Life): unknown => one.does(online(ms(END))).events.at(-1);
