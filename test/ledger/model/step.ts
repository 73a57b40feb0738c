import fc from 'fast-check';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { compare } from './compare.ts';
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
      if (plain !== null) compare({ command, decision }, plain, real);
    }
  }

  toString(): string {
    const what = JSON.stringify(this.#move.of, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
    return `${this.#afterMs} ms later ${this.#move.name} ${what}`;
  }
}
