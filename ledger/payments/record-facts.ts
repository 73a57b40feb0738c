import type { AccountCommand, CommandRefusal } from '../account/commands.ts';
import { type CreditsTaken, creditsTaken } from '../account/credits-taken.ts';
import type { CommandResult } from '../account/execute-command.ts';
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
}

interface FactsRecorded {
  readonly refusals: readonly CommandRefusal[];
  /** With each refund and dispute that was written down now. */
  readonly taken: readonly CreditsTaken[];
}

/**
 * Writes down what a provider knows of an account, in its order, each once however often it is heard. What is refused is
 * returned, and the rest done all the same. @throws what `run` throws
 */
export async function recordFacts(facts: readonly PaymentFact[], { run, ...said }: Recorded): Promise<FactsRecorded> {
  const refusals: CommandRefusal[] = [];
  const taken: CreditsTaken[] = [];
  for (const fact of facts)
    for (const command of commandsOf(fact, said)) {
      const result = await run(command);
      if (result.type === 'refused') {
        refusals.push(result);
        continue;
      }
      const credits = creditsTaken(result.events, result.before);
      if (credits !== null) taken.push(credits);
    }
  return { refusals, taken };
}

function commandsOf(fact: PaymentFact, { provider, ...said }: Omit<Recorded, 'run'>): readonly AccountCommand[] {
  const { nowMs } = said;
  switch (fact.type) {
    case 'attempt': {
      const { attemptId, outcome } = fact;
      const command = commandOfOutcome(outcome, { attemptId, provider, nowMs });
      return command === null ? [] : [command];
    }
    case 'refund': {
      const { type: _type, ...refund } = fact;
      return [{ type: 'RecordRefund', ...refund, ...said }];
    }
    case 'dispute': {
      const { type: _type, outcome, ...dispute } = fact;
      const { paymentId, disputeId } = dispute;
      const opened: AccountCommand = { type: 'RecordDispute', ...dispute, ...said };
      if (outcome === null) return [opened];
      return [opened, { type: 'CloseDispute', paymentId, disputeId, outcome, closedAtMs: nowMs, ...said }];
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
