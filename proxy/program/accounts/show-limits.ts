import type { KeyId } from '../../../contracts/ids.ts';
import { groupedUsd, type MicroUsd, microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import { monthOfSpend, spentAgainst } from '../../../ledger/account/spend.ts';
import { type LimitScope, limitName, limitOf, type SpendLimit } from '../../../ledger/account/spend-limits.ts';
import { type Terminal, table } from '../show.ts';

interface ShownLimit extends SpendLimit, LimitScope {
  readonly spent: MicroUsd;
  /** Less than nothing where more was spent before it was set, or it is soft. */
  readonly left: MicroUsd;
  /** Percents that were told in this month. */
  readonly told: readonly number[];
}

/** The monthly limits of an account, of its members and of the keys that whoever asks may see, and what was spent against them. */
export function limitsOf(state: OpenAccount, keys: readonly KeyId[], month: string): ShownLimit[] {
  const spent = monthOfSpend(state.spend, month);
  const scopes: LimitScope[] = [
    { keyId: null, member: null },
    ...Object.values(state.organization.members).map(({ email }) => ({ keyId: null, member: email })),
    ...keys.map((id) => ({ keyId: id, member: null })),
  ];
  return scopes.flatMap((scope) => {
    const limit = limitOf(state.spend, scope);
    if (limit === null) return [];
    const of = spentAgainst(state, spent, scope);
    const prefix = `${limitName(scope)}:`;
    const told = spent.crossed.filter((one) => one.startsWith(prefix)).map((one) => Number(one.slice(prefix.length)));
    return [{ ...scope, ...limit, spent: of, left: microUsd(limit.limit - of), told }];
  });
}

export const limitsTable = (limits: readonly ShownLimit[], terminal: Terminal): string =>
  table(
    ['limit of', 'mode', 'USD a month', 'spent', 'left', 'told at', 'told'],
    limits.map(({ keyId: key, member, mode, limit, spent, left, thresholdsPercent, told }) => [
      ...[key ?? member ?? 'the account', mode, groupedUsd(limit), groupedUsd(spent), groupedUsd(left)],
      ...[`${thresholdsPercent.join(', ')}%`, told.length === 0 ? 'nothing' : `${told.join(', ')}%`],
    ]),
    terminal,
  );
