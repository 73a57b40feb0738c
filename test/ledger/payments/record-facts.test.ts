import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountStream, attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import type { PaymentFact } from '../../../ledger/payments/payment-provider.ts';
import { recordTold } from '../../../ledger/payments/record-facts.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, ms, opened, usd } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const PAYMENT = paymentId('pi_1');
const BY_HAND = { actor: 'operator', reason: 'as their bank wrote', nowMs: NOW };
const OF = { paymentId: PAYMENT, disputeId: 'dp_1' };
const BOUGHT = { attemptId: attemptId('bought'), provider: 'stripe', nowMs: NOW };
const TWENTY = { amount: usd(20), price: usd(20), by: 'owner@example.com' };

const PAID: readonly AccountCommand[] = [
  { type: 'StartPurchase', ...BOUGHT, ...TWENTY },
  { type: 'RecordPayment', ...BOUGHT, paymentId: PAYMENT, amount: usd(20), paidAtMs: NOW },
];
const DISPUTED: AccountCommand = { type: 'RecordDispute', ...OF, amount: usd(10), openedAtMs: NOW, ...BY_HAND };
const WON: AccountCommand = { type: 'CloseDispute', ...OF, outcome: 'won', closedAtMs: NOW, ...BY_HAND };

const told = (amount: number, outcome: 'won' | 'lost' | null): PaymentFact => ({
  ...{ type: 'dispute', ...OF, amount: usd(amount), openedAtMs: NOW, outcome },
});

/** How often one process that is alone asks its provider once more, until what that tells stands here. */
async function askedMore(before: readonly AccountCommand[], fact: PaymentFact) {
  const log = new MemoryEventLog();
  const life = [opened];
  for (const command of before) life.push(...given(...life).decided(command));
  log.write(accountStream(ACCOUNT), encodeEvents(life, recordingBy('test', NOW)));
  let asked = 0;
  const refusals = await recordTold([fact], {
    ...{ provider: 'stripe', actor: 'payments', nowMs: NOW, tell: () => undefined },
    run: (command) => executeCommand(log, ACCOUNT, command, OPERATOR, recordingBy('payments', NOW)),
    ask: async () => {
      asked++;
      return [fact];
    },
    state: async () => (await loadAccount(log, ACCOUNT)).state,
  });
  const { state } = await loadAccount(log, ACCOUNT);
  return { asked, refusals, balance: state.type === 'unopened' ? null : state.balance };
}

it.each([
  ['that is new', [], told(20, null), 1, 0n],
  ['that is new and won', [], told(20, 'won'), 1, 20n],
  ['that was won by hand, and is won', [DISPUTED, WON], told(10, 'won'), 0, 20n],
  ['that was won by hand, and is lost', [DISPUTED, WON], told(10, 'lost'), 2, 10n],
  ['that was won by hand with another amount, and is open', [DISPUTED, WON], told(15, null), 2, 5n],
  ['that was won by hand with another amount, and is won', [DISPUTED, WON], told(15, 'won'), 2, 20n],
  ['that was won by hand with another amount, and is lost', [DISPUTED, WON], told(15, 'lost'), 2, 5n],
] as const)('of a dispute %s a provider is asked so often', async (_what, before, fact, asked, balance) => {
  expect(await askedMore([...PAID, ...before], fact)).toEqual({ asked, refusals: [], balance });
});
