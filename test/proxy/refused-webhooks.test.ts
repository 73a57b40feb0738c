import pino from 'pino';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountStream, attemptId, paymentId } from '../../contracts/ids.ts';
import { type CommandRefusal, commandRefused } from '../../ledger/account/commands.ts';
import type { PaymentFact, TellingProvider } from '../../ledger/payments/payment-provider.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { PaymentWebhooks } from '../../proxy/payment-webhooks.ts';
import { given } from '../fixtures/ledger/decider-specification.ts';
import { ACCOUNT, keyIssued, opened, usd } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { STARTED_MS } from '../fixtures/stripe/stripe-example.ts';

const PRICE = usd(8_000_000);
const NOT_NOW = commandRefused('not_written_off', 'a request is under way');

const paid = (id: string): PaymentFact => ({
  ...{ type: 'attempt', attemptId: attemptId(id) },
  outcome: { type: 'paid', paymentId: paymentId(`pi_${id}`), amount: PRICE, paidAtMs: STARTED_MS },
});

/** What a provider tells of an account with a purchase, `bought`, which cannot be written for now where `isHeld`. */
async function heard(isHeld: boolean, ...facts: readonly PaymentFact[]) {
  const log = new MemoryEventLog();
  const started = given(opened, keyIssued()).decided({
    ...{ type: 'StartPurchase', attemptId: attemptId('bought'), provider: 'stripe', amount: PRICE, price: PRICE },
    ...{ by: 'owner@example.com', nowMs: STARTED_MS },
  });
  log.write(accountStream(ACCOUNT), encodeEvents([opened, keyIssued(), ...started], recordingBy('test', STARTED_MS)));
  const whyNot = (_: unknown, decided: readonly AccountEvent[]): CommandRefusal | null =>
    isHeld && decided.some(({ type }) => type === 'PaymentSucceeded') ? NOT_NOW : null;
  const provider = {
    ...{ name: 'stripe', kinds: { payment: 'p', consent: 'c' }, about: () => ({ kind: 'p', id: 'pi_1' }) },
    factsOf: async () => ({ accountId: ACCOUNT, facts }),
  } as unknown as TellingProvider;
  const lines: { readonly level: number; readonly reasons?: readonly string[] }[] = [];
  const webhooks = new PaymentWebhooks({
    ...{ log, accounts: new AccountViews(), product: 'gateway', provider, whyNot },
    ...{ clock: () => STARTED_MS, mayWrite: () => true },
    logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  });
  const { status } = await webhooks.hear(Buffer.from('{}'), '');
  const errors = lines.filter(({ level }) => level === pino.levels.values.error);
  return { status, reasons: errors.flatMap(({ reasons = [] }) => reasons) };
}

it('what a webhook tells, and is refused for now, is told again; not where more of it is refused for good', async () => {
  expect(await heard(false, paid('bought'))).toEqual({ status: 200, reasons: [] });
  expect(await heard(true, paid('bought'))).toEqual({ status: 503, reasons: [] });
  const unknown = expect.stringContaining('unknown');
  expect(await heard(false, paid('unknown'))).toEqual({ status: 409, reasons: [unknown] });
  const both = [paid('bought'), paid('unknown')] as const;
  expect(await heard(true, ...both)).toEqual({ status: 409, reasons: [NOT_NOW.message, unknown] });
  expect(await heard(true, ...both.toReversed())).toEqual({ status: 409, reasons: [unknown, NOT_NOW.message] });
});
