import type fc from 'fast-check';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type PaymentId, paymentId } from '../../../contracts/ids.ts';
import type { AskedPayment, PaymentOutcome, PaymentProvider } from '../../../ledger/payments/payment-provider.ts';
import type { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

/** What the bank does when it is asked; beyond the list it answers, and pays. */
type Answer = 'pays' | 'declines' | 'is away' | 'pays, unheard' | 'declines, unheard' | 'lets wait' | 'gives up';

/** Decides each key once, whoever asks, however often: what a provider promises of its idempotency keys. */
export class Bank implements PaymentProvider {
  readonly name = 'stripe';
  readonly charges = new Map<string, PaymentId>();
  readonly #declined = new Set<string>();
  readonly #givenUp = new Set<string>();
  readonly #answers: Answer[];

  constructor(answers: readonly Answer[]) {
    this.#answers = [...answers];
  }

  async ask({ attempt: { attemptId: key, price, startedAtMs } }: AskedPayment): Promise<PaymentOutcome> {
    const answer = this.#answers.shift() ?? 'pays';
    if (answer === 'is away') throw new Error('the provider is away');
    if (answer === 'lets wait') return { type: 'waits', url: null };
    if (!this.charges.has(key) && !this.#declined.has(key) && !this.#givenUp.has(key)) {
      if (answer === 'gives up') this.#givenUp.add(key);
      else if (answer.startsWith('pays')) this.charges.set(key, paymentId(`pi_${this.charges.size}`));
      else this.#declined.add(key);
    }
    if (answer.endsWith('unheard')) throw new Error('the answer was lost');
    if (this.#givenUp.has(key)) return { type: 'abandoned', reason: 'nothing was charged' };
    const paid = this.charges.get(key);
    if (paid === undefined) return { type: 'failed', code: 'card_declined', isTerminal: false };
    return { type: 'paid', paymentId: paid, amount: price, paidAtMs: startedAtMs };
  }

  async withdraw(asked: AskedPayment): Promise<PaymentOutcome> {
    const { attemptId: key } = asked.attempt;
    if (!this.charges.has(key) && !this.#declined.has(key)) this.#givenUp.add(key);
    return this.ask(asked);
  }
}

/** The log as one process has it: each of its appends comes when the scheduler lets it. */
export function scheduled(log: MemoryEventLog, scheduler: fc.Scheduler): EventLog {
  const append = scheduler.scheduleFunction(log.append.bind(log));
  const { readStream, readAll, subscribeAll, headPosition, close } = log;
  return {
    append,
    readStream: readStream.bind(log),
    readAll: readAll.bind(log),
    subscribeAll: subscribeAll.bind(log),
    headPosition: headPosition.bind(log),
    close: close.bind(log),
  };
}

/** The bank, whose answers come when the scheduler lets them; what it throws is thrown where it is waited for alone. */
export function slowly(bank: Bank, scheduler: fc.Scheduler): PaymentProvider {
  const answered = scheduler.scheduleFunction((word: 'ask' | 'withdraw', asked: AskedPayment) =>
    bank[word](asked).catch((error: unknown) => ({ type: 'thrown', error }) as const),
  );
  const waited = async (word: 'ask' | 'withdraw', asked: AskedPayment): Promise<PaymentOutcome> => {
    const answer = await answered(word, asked);
    if (answer.type === 'thrown') throw answer.error;
    return answer;
  };
  return { name: bank.name, ask: (asked) => waited('ask', asked), withdraw: (asked) => waited('withdraw', asked) };
}

export const ANSWERS = ['pays', 'declines', 'is away', 'pays, unheard', 'declines, unheard', 'lets wait'] as const;

/** The same bank, on a day without faults. */
export class Answering implements PaymentProvider {
  readonly name = 'stripe';
  readonly #bank: Bank;

  constructor(bank: Bank) {
    this.#bank = bank;
  }

  ask = (asked: AskedPayment): Promise<PaymentOutcome> => this.#answerOf(() => this.#bank.ask(asked));

  withdraw = (asked: AskedPayment): Promise<PaymentOutcome> => this.#answerOf(() => this.#bank.withdraw(asked));

  async #answerOf(ask: () => Promise<PaymentOutcome>): Promise<PaymentOutcome> {
    for (let times = 0; times < ANSWERS.length * 4; times++) {
      try {
        const outcome = await ask();
        if (outcome.type !== 'waits') return outcome;
      } catch {
        // Its list of faults ends.
      }
    }
    throw new Error('it does not end');
  }
}
