import { isDeepStrictEqual } from 'node:util';
import { USUAL_THRESHOLDS } from '../../contracts/limit-events.ts';
import { LIMITS } from '../../contracts/limits.ts';
import type { OpenAccount } from './account-state.ts';
import { type CommandOf, commandRefused, type Decision } from './commands.ts';
import { keyNotFound } from './decide-keys.ts';
import { memberNotFound } from './decide-members.ts';
import { entryOf } from './keyed-tree.ts';
import { memberKey } from './members.ts';
import { kindOf, limitOf, type SpendLimit } from './spend-limits.ts';
import { thresholdsReached } from './thresholds.ts';

/** A limit, and behind it what the month has reached of it already: a hard one may admit nothing any more that would tell it. */
export function setSpendLimit(command: CommandOf<'SetSpendLimit'>, state: OpenAccount): Decision {
  const { keyId, member: asked = null, limit, nowMs } = command;
  if (keyId !== null && asked !== null)
    return commandRefused('ambiguous_scope', 'a limit is of a key or of a member, not of both');
  if (keyId !== null && entryOf(state.keys, keyId) === undefined) return keyNotFound(keyId);
  // As it was written down when the member came.
  const member = asked === null ? null : emailOf(asked, state);
  if (asked !== null && member === null) return memberNotFound(asked);
  const scope = { keyId, member };
  const before = limitOf(state.spend, scope);
  const usual = limit === null ? USUAL_THRESHOLDS : (before?.thresholdsPercent ?? USUAL_THRESHOLDS);
  const { mode = 'hard', thresholdsPercent = usual } = limit === null ? {} : command;
  if (!areThresholds(thresholdsPercent))
    return commandRefused(
      'invalid_thresholds',
      `thresholds: expected 1 to ${LIMITS.thresholdsMax} whole percents from 1 to 100, each once, in rising order`,
    );
  const asSet: SpendLimit | null = limit === null ? null : { limit, mode, thresholdsPercent };
  if (isDeepStrictEqual(before, asSet)) return [];
  const terms = { mode, thresholdsPercent: [...thresholdsPercent] };
  return [
    { type: 'SpendLimitSet', data: { scope: kindOf(scope), ...scope, limit, ...terms } },
    ...(asSet === null ? [] : thresholdsReached(state, scope, asSet, nowMs)),
  ];
}

function emailOf(email: string, { organization: { members } }: OpenAccount): string | null {
  const key = memberKey(email);
  return Object.hasOwn(members, key) ? (members[key]?.email ?? null) : null;
}

const areThresholds = (percents: readonly number[]): boolean =>
  percents.length > 0 &&
  percents.length <= LIMITS.thresholdsMax &&
  percents.every((one, at) => Number.isInteger(one) && one > (percents[at - 1] ?? 0) && one <= 100);
