import fc from 'fast-check';
import { expect } from 'vitest';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { entriesOf } from '../../../ledger/account/keyed-tree.ts';
import type { PlainAccount } from './plain-account.ts';
import type { RealAccount } from './real-account.ts';

/** What a step is, as its arbitrary gives it, and the commands that it is of an account as it stands, each when the one before is done. */
export interface Move {
  readonly name: string;
  readonly of: object;
  readonly commands: (account: RealAccount) => Iterable<AccountCommand>;
}

/** A kind of move, and how often it comes beside others. */
export const move = <S extends object>(
  weight: number,
  name: string,
  fields: { [K in keyof S]: fc.Arbitrary<S[K]> },
  commands: (step: S, account: RealAccount) => Iterable<AccountCommand>,
): { weight: number; arbitrary: fc.Arbitrary<Move> } => ({
  weight,
  arbitrary: fc
    .record(fields)
    .map((of) => ({ name, of: of as object, commands: (account) => commands(of as S, account) })),
});

/** One of those that there are. */
export const oneOf = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)];

/** A command, some time after the one before; compared with the plain account's where there is one. */
export class Step implements fc.Command<{ readonly plain: PlainAccount | null }, RealAccount> {
  readonly #afterMs: number;
  readonly #move: Move;

  constructor(afterMs: number, move: Move) {
    this.#afterMs = afterMs;
    this.#move = move;
  }

  check(): boolean {
    return true;
  }

  run({ plain }: { readonly plain: PlainAccount | null }, real: RealAccount): void {
    real.nowMs += this.#afterMs;
    for (const command of this.#move.commands(real)) {
      const { decision } = real.carryOut(command);
      if (plain !== null) compare(command, decision, plain, real);
    }
  }

  toString(): string {
    const what = JSON.stringify(this.#move.of, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
    return `${this.#afterMs} ms later ${this.#move.name} ${what}`;
  }
}

/** Whether it is refused, what it says, and what there is afterwards. */
function compare(
  command: AccountCommand,
  decision: ReturnType<RealAccount['carryOut']>['decision'],
  plain: PlainAccount,
  real: RealAccount,
): void {
  const events = 'type' in decision ? [] : decision;
  const verdict = 'type' in decision ? 'refused' : events.length === 0 ? 'nothing' : 'done';
  const { grants, uncovered, balance, spend, billing, suspended } = real.open;
  const spent = Object.entries(spend.months).flatMap(([month, { account, keys }]) => [
    [month, account] as const,
    ...[...entriesOf(keys)].map(([key, amount]) => [`${month} ${key}`, amount] as const),
  ]);
  const looked = events.map(({ type, data }) =>
    type === 'AutoReloadStarted' ? `starts ${data.amount}` : type === 'AutoReloadSkipped' ? data.reason : '',
  );
  const { plan, payments } = billing;
  const said = plain.carryOut(command, events, real.nowMs);
  expect(
    {
      verdict,
      balance,
      owed: uncovered,
      grants: Object.fromEntries(grants.map((one) => [one.grantId, [one.remaining, one.expired, one.expiresAtMs]])),
      spent: Object.fromEntries(spent.filter(([, amount]) => amount !== 0n)),
      isSuspended: suspended !== null,
      closing: billing.statement?.closing ?? 0n,
      plan: {
        inForce: real.open.plan,
        asked: plan?.plan ?? null,
        paid: plan?.period?.startMs ?? null,
        tried: plan?.due == null ? null : [plan.due.startMs, plan.due.attempts],
        next: plan?.next?.plan ?? null,
      },
      attempts: Object.fromEntries(
        real.attempts.map(({ attemptId, kind, state, price, credits }) => [
          attemptId,
          `${kind} ${state} ${price} ${credits}`,
        ]),
      ),
      isPaused: (payments.reload?.paused ?? null) !== null,
      looked: command.type === 'StartAutoReload' ? looked.join(' ') : '',
    },
    `after ${JSON.stringify(command, (_, value) => (typeof value === 'bigint' ? `${value}` : value))} → ${JSON.stringify(decision, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`,
  ).toEqual({
    verdict: said,
    balance: plain.balance,
    owed: plain.owed,
    grants: Object.fromEntries(
      plain.grants.map((one) => [one.id, [one.left, one.expired, Number.isFinite(one.untilMs) ? one.untilMs : null]]),
    ),
    spent: Object.fromEntries(Object.entries(plain.spent).filter(([, amount]) => amount !== 0n)),
    isSuspended: plain.isSuspended,
    closing: plain.statements.closing,
    plan: plain.plans.told,
    attempts: plain.payments.attempts.told,
    isPaused: plain.payments.isPaused,
    looked: command.type === 'StartAutoReload' ? plain.payments.looked : '',
  });
}
