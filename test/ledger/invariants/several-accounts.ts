import fc from 'fast-check';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { type AccountId, accountId } from '../../../contracts/ids.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { type Commands, lived, wholeHistories } from '../model/histories.ts';
import type { RealAccount } from '../model/real-account.ts';

/** Random lives of a ledger's first so many accounts, each with a plan. */
export const ledgers = (
  accounts: number,
  histories: fc.Arbitrary<Commands> = wholeHistories,
): fc.Arbitrary<Commands[]> => fc.array(histories, { minLength: accounts, maxLength: accounts });

export const livedTogether = (all: readonly Commands[]): Map<AccountId, RealAccount> =>
  new Map(
    all.map((commands, at) => {
      const id = accountId(`acct_${at}`);
      return [id, lived(commands, { accountId: id, firstNumber: at * 10_000 })];
    }),
  );

/** What one log has of them, one append after another. */
export function appendsOf(accounts: ReadonlyMap<AccountId, RealAccount>): (readonly RecordedEvent[])[] {
  const appends = [...accounts].flatMap(([id, { life }]) => [
    ...Map.groupBy(recordedLife(life, id), ({ metadata }) => (JSON.parse(metadata) as Appended).commandId).values(),
  ]);
  const at = ([first]: readonly RecordedEvent[]): string =>
    (JSON.parse(first?.metadata ?? '{}') as Appended).recordedAt ?? '';
  return appends.toSorted((one, other) => (at(one) < at(other) ? -1 : at(one) > at(other) ? 1 : 0));
}

interface Appended {
  readonly commandId?: string;
  readonly recordedAt?: string;
}
