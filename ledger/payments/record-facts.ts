import { UnadoptedFormError } from '../../contracts/event-log.ts';
import type { AccountState } from '../account/account-state.ts';
import type { AccountCommand, CommandRefusal } from '../account/commands.ts';
import { type CreditsMoved, creditsMoved } from '../account/credits-moved.ts';
import { OF_ANOTHER_CARD } from '../account/decide-payments.ts';
import type { CommandResult } from '../account/execute-command.ts';
import { toldDispute, toldRefund } from '../account/told-returns.ts';
import type { PaymentFact } from './payment-provider.ts';
import { commandOfOutcome } from './record-outcome.ts';

interface Recorded {
  /** As events name it. */
  readonly provider: string;
  /** Who writes it down. */
  readonly actor: string;
  readonly nowMs: number;
  /** Carries out one, as the system; what is written down already is done. */
  readonly run: (command: AccountCommand) => Promise<CommandResult>;
  /** Told of credits as what moves them is written down: it is, also where what comes behind it fails. */
  readonly tell: (moved: CreditsMoved) => void;
}

interface Told extends Recorded {
  /** All that the provider knows, asked anew. */
  readonly ask: () => Promise<readonly PaymentFact[]>;
  /** The account as it is known, at the least as `run` has left it. */
  readonly state: () => AccountState | Promise<AccountState>;
}

/** A provider tells something else of a payment each time it is asked. */
export class UnsettledFactsError extends Error {
  override readonly name = 'UnsettledFactsError';
}

/** What a provider tells of a payment is refused; what is not is written down. */
export class RefusedFactsError extends Error {
  override readonly name = 'RefusedFactsError';
}

/**
 * One answer that was asked for before it was known here what it replaces, one to write down, one that says that it is still so, and two more:
 * whoever waits for it waits for them all. At a provider it changes within days, so each further one is another process that has written
 * meanwhile, and these are few.
 */
const TIMES_MAX = 5;

/**
 * Writes down what a provider knows of a payment, until what it says is what stands here. An answer may be held up, and another that was
 * asked for later be written before it: so what has ended is replaced by an answer alone that was asked for after that stood here, and after
 * what went back, or did not, was written the provider is asked once more. Whoever writes last has asked behind it.
 *
 * @param first what it has answered @returns what is refused
 * @throws what `run` and `ask` throw; UnsettledFactsError
 */
export async function recordTold(
  first: readonly PaymentFact[],
  { ask, state, ...recorded }: Told,
): Promise<readonly CommandRefusal[]> {
  let [facts, before]: [readonly PaymentFact[], AccountState | null] = [first, null];
  for (let times = 1; times <= TIMES_MAX; times++) {
    const { refusals, isSettled } = await recordPass(facts, before, recorded);
    if (isSettled) return refusals;
    before = await state();
    facts = await ask();
  }
  throw new UnsettledFactsError(`${recorded.provider} tells something else of a payment each time it is asked`);
}

/**
 * Writes down what a provider knows of an account, in its order, each once however often it is heard. What is refused is
 * returned, and the rest done all the same. @throws what `run` throws
 */
export const recordFacts = async (
  facts: readonly PaymentFact[],
  recorded: Recorded,
): Promise<readonly CommandRefusal[]> => (await recordPass(facts, null, recorded)).refusals;

interface Pass {
  readonly refusals: readonly CommandRefusal[];
  /** Nothing was written of what may be told otherwise again, and nothing kept back since it was told otherwise meanwhile. */
  readonly isSettled: boolean;
}

/** @param before the account before the provider was asked; null: nothing is known of it */
async function recordPass(
  facts: readonly PaymentFact[],
  before: AccountState | null,
  { run, tell, ...said }: Recorded,
): Promise<Pass> {
  const refusals: CommandRefusal[] = [];
  let isSettled = true;
  for (const fact of facts)
    for (const command of commandsOf(fact, before, said)) {
      const result = await runAdopted(command, run);
      if (result.type === 'refused') {
        refusals.push(result);
        if (result.code === 'told_meanwhile') isSettled = false;
        continue;
      }
      if (result.events.length > 0 && fact.type !== 'attempt' && fact.type !== 'method') isSettled = false;
      const moved = creditsMoved(result.events, result.before);
      if (moved !== null) tell(moved);
    }
  return { refusals, isSettled };
}

/** While older programs serve the same ledger another card's decline cannot be written as that: it is given up, as they do, and another is begun later. */
async function runAdopted(command: AccountCommand, run: Recorded['run']): Promise<CommandResult> {
  try {
    return await run(command);
  } catch (error) {
    const isUnadopted = error instanceof UnadoptedFormError && error.type === 'PaymentFailed';
    if (command.type !== 'RecordPaymentFailure' || !isUnadopted) throw error;
    const { attemptId, nowMs } = command;
    return run({ type: 'AbandonPayment', attemptId, reason: OF_ANOTHER_CARD, nowMs });
  }
}

function commandsOf(
  fact: PaymentFact,
  before: AccountState | null,
  { provider, ...said }: Omit<Recorded, 'run' | 'tell'>,
): readonly AccountCommand[] {
  const { nowMs } = said;
  const billing = before === null || before.type === 'unopened' ? null : before.billing;
  switch (fact.type) {
    case 'attempt': {
      const { attemptId, outcome } = fact;
      const command = commandOfOutcome(outcome, { attemptId, provider, nowMs });
      return command === null ? [] : [command];
    }
    case 'refund': {
      const { type: _type, ...refund } = fact;
      const stood = (billing && toldRefund(billing, fact)?.refundId) ?? null;
      return [{ type: 'RecordRefund', ...refund, stood, ...said }];
    }
    case 'failed refund': {
      const { paymentId, refundId, became } = fact;
      return [{ type: 'WithdrawRefund', paymentId, refundId, became, ...said }];
    }
    case 'dispute': {
      const { type: _type, outcome, ...dispute } = fact;
      const { paymentId, disputeId } = dispute;
      const told = billing && toldDispute(billing, fact);
      const opened: AccountCommand = { type: 'RecordDispute', ...dispute, stood: told?.disputeId ?? null, ...said };
      if (outcome === null) return [opened];
      // In the place of one with another amount it stands as open.
      const stood = told?.amount === dispute.amount ? told.outcome : null;
      return [opened, { type: 'CloseDispute', paymentId, disputeId, outcome, stood, closedAtMs: nowMs, ...said }];
    }
    case 'method': {
      const { type: _type, ...method } = fact;
      return [{ type: 'SavePaymentMethod', provider, ...method }];
    }
    default:
      fact satisfies never;
      throw new Error('what a provider knows is none of its facts');
  }
}
