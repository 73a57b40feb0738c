import type { AccountEvent } from '../../../contracts/events.ts';
import { type KeyId, type RequestId, revision } from '../../../contracts/ids.ts';
import { type AccountState, INITIAL_ACCOUNT, type OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand, CommandRefusal, MoneyOfRequest } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { valuesOf } from '../../../ledger/account/keyed-tree.ts';
import { allAttempts } from '../../../ledger/account/payments.ts';
import type { PaymentAttempt } from '../../../ledger/account/payments-state.ts';
import { OpenMonths } from '../../../ledger/statement/open-months.ts';

/** A command as it was given, and what became of it. */
export interface Tried {
  readonly command: AccountCommand;
  readonly atMs: number;
  readonly before: AccountState;
  readonly decision: readonly AccountEvent[] | CommandRefusal;
}

/** An account as the ledger's decider and fold have it, all its commands, and the clock. */
export class RealAccount {
  nowMs: number;
  state: AccountState = INITIAL_ACCOUNT;
  readonly life: { readonly event: AccountEvent; readonly atMs: number }[] = [];
  readonly tried: Tried[] = [];
  /** What no statement has counted. */
  readonly months = new OpenMonths();
  readonly #suspended: { readonly fromMs: number; untilMs: number }[] = [];
  #number: number;

  /** @param firstNumber of its ids: no two requests of a ledger have the same */
  constructor(bornMs: number, firstNumber = 0) {
    this.nowMs = bornMs;
    this.#number = firstNumber;
  }

  carryOut(command: AccountCommand): Tried {
    const before = this.state;
    const tried = { command, atMs: this.nowMs, before, decision: decide(command, before) };
    this.tried.push(tried);
    if ('type' in tried.decision) return tried;
    for (const event of tried.decision) {
      this.state = evolve(this.state, event);
      this.months.take(event, revision(this.life.length), new Date(this.nowMs).toISOString());
      this.life.push({ event, atMs: this.nowMs });
      if (event.type === 'AccountSuspended')
        this.#suspended.push({ fromMs: this.nowMs, untilMs: Number.POSITIVE_INFINITY });
      const last = this.#suspended.at(-1);
      if (event.type === 'AccountReinstated' && last !== undefined) last.untilMs = this.nowMs;
    }
    return tried;
  }

  /** @throws Error before it is open */
  get open(): OpenAccount {
    if (this.state.type === 'unopened') throw new Error('the account is not open');
    return this.state;
  }

  get attempts(): PaymentAttempt[] {
    return allAttempts(this.open.billing.payments);
  }

  get events(): AccountEvent[] {
    return this.life.map(({ event }) => event);
  }

  /** For ids of what is new. */
  next(): number {
    return ++this.#number;
  }

  /** Whoever is suspended begins nothing. */
  wasSuspended(atMs: number): boolean {
    return this.#suspended.some(({ fromMs, untilMs }) => fromMs <= atMs && atMs <= untilMs);
  }

  /** What could begin a request then, as far as it is known now. */
  keysAt(atMs: number): KeyId[] {
    const keys = [...valuesOf(this.open.keys)].filter(({ revokedAtMs }) => revokedAtMs === null);
    return keys.flatMap(({ keyId, expiresAtMs }) => (expiresAtMs === null || expiresAtMs > atMs ? [keyId] : []));
  }

  get debited(): RequestId[] {
    return this.life.flatMap(({ event: { type, data } }) =>
      type === 'CreditsDebited' || type === 'ExceptionApproved' ? [data.requestId] : [],
    );
  }

  moneyOf(requestId: RequestId): MoneyOfRequest[] {
    return this.events.filter((event) => isMoney(event)).filter(({ data }) => data.requestId === requestId);
  }
}

const isMoney = (event: AccountEvent): event is MoneyOfRequest =>
  event.type === 'CreditsDebited' || event.type === 'ExceptionApproved' || event.type === 'DebitReversed';
