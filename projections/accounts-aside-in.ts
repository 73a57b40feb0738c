import { isOfOperator } from './accounts-set-aside.ts';
import { readUndamaged } from './damaged-views.ts';
import { type ParkedAccount, readParked } from './parked-accounts.ts';
import { type AsideFacts, readSetAside } from './rebuild/views-facts.ts';
import { viewFilesOf } from './view-files.ts';

/**
 * The accounts that the gateway of a data folder refuses: those that its views' file has set aside, where that can be read, those that an operator has
 * parked, and those that are unparked and were not read again yet. @throws UnreadableFileError
 */
export function accountsAsideIn(data: string): readonly AsideFacts[] {
  const { live } = viewFilesOf(data);
  const looked = readUndamaged(live, () => readSetAside(live));
  return withParked(looked.damage === null ? looked.read : [], readParked(data));
}

/** The operator's word has ended: that is read again by the gateway that runs, once its log answers, or by the next start. */
export const UNPARKED = 'unparked';
const WAITS = 'what has waited is not read yet';

/** An account that is parked is so from a revision on, where a gateway has found it. */
function withParked(setAside: readonly AsideFacts[], parked: readonly ParkedAccount[]): AsideFacts[] {
  const ids = new Set<string>(parked.map(({ accountId }) => accountId));
  return [
    ...setAside
      .filter(({ accountId }) => !ids.has(accountId))
      .map((one) => (isOfOperator(one.why) ? { ...one, cause: UNPARKED, why: WAITS } : one)),
    ...parked.map(({ accountId, reason }) => {
      const revision = setAside.find((one) => one.accountId === accountId)?.revision ?? null;
      return { accountId, cause: 'parked', revision, why: reason };
    }),
  ];
}
