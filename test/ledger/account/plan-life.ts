import type { AccountEvent, EventData } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import { keyIssued, ms, openAccount, opened } from '../../fixtures/ledger/example-account.ts';
import { BIG, catalogOf, OPEN_SOURCE, STARTER, TEAM } from '../../fixtures/ledger/example-plan-events.ts';
import { faultsOf } from '../audit/account-faults.ts';

/** As the first plan is asked for. */
export const AT = '2026-11-30T10:00:00.000Z';
export const catalog = catalogOf(STARTER, TEAM, OPEN_SOURCE, BIG);

export const asks = (plan: string, at = AT): AccountCommand => ({
  ...{ type: 'ChangePlan', plan, provider: 'manual', catalog, reason: 'as asked for', by: 'operator', nowMs: ms(at) },
});
export const looks = (at: string | number): CommandOf<'StartRenewal'> => ({
  ...{ type: 'StartRenewal', provider: 'manual', catalog, nowMs: typeof at === 'number' ? at : ms(at) },
});

export const online = (at: number): AccountCommand => ({ ...looks(at), provider: 'stripe' });

/** A life that goes on by commands. */
export class Life {
  readonly events: AccountEvent[];

  constructor(...events: AccountEvent[]) {
    this.events = events;
  }

  does(...commands: AccountCommand[]): this {
    for (const command of commands) this.events.push(...given(...this.events).decided(command));
    return this;
  }

  /** Of what is open. */
  pays(at: string, id = at): this {
    const claim = this.claims.at(-1);
    if (claim === undefined) throw new Error('nothing is to be paid');
    const { attemptId: attempt, provider, price: amount } = claim;
    const paid = { provider, paymentId: paymentId(`pi_${id}`), amount, paidAtMs: ms(at), nowMs: ms(at) };
    return this.does({ type: 'RecordPayment', attemptId: attempt, ...paid });
  }

  declined(at: number, isTerminal = false): this {
    const attempt = attemptId(this.claims.at(-1)?.attemptId ?? '');
    return this.does({
      type: 'RecordPaymentFailure',
      attemptId: attempt,
      code: 'card_declined',
      isTerminal,
      nowMs: at,
    });
  }

  /** Nothing was charged, and nobody asked; or an operator has ended it. */
  givenUp(at: number, by: Pick<CommandOf<'AbandonPayment'>, 'endedBy'> = {}): this {
    const attempt = attemptId(this.claims.at(-1)?.attemptId ?? '');
    return this.does({ type: 'AbandonPayment', attemptId: attempt, reason: 'an outage', ...by, nowMs: at });
  }

  get claims(): EventData<'RenewalStarted'>[] {
    return this.events.flatMap((event) => (event.type === 'RenewalStarted' ? [event.data] : []));
  }

  /** What the auditor says of it, to whom all of it is recorded as of one instant. */
  get faults(): string[] {
    return faultsOf(this.events);
  }

  get state(): OpenAccount {
    return openAccount(this.events);
  }

  get plan(): OpenAccount['billing']['plan'] {
    return this.state.billing.plan;
  }
}

export const END = '2026-12-30T10:00:00.000Z';
export const DAY = 24 * 3_600_000;

export const life = (): Life => new Life(opened, keyIssued());
export const onStarter = (): Life => life().does(asks('starter')).pays(AT);
