import type { FastifyInstance } from 'fastify';
import type { MeAnswer } from '../../contracts/answers.ts';
import { exactNumber } from '../../contracts/exact-number.ts';
import { authorize } from '../../ledger/account/authorize.ts';
import { spendable } from '../../ledger/account/leases.ts';
import { memberOfKey } from '../../ledger/account/members.ts';
import { monthOf } from '../../ledger/account/month.ts';
import type { SpendAgainstLimit } from '../../projections/spend-limits.ts';
import { answer, refuse } from '../answer.ts';
import type { Caller } from '../caller.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { findCaller } from './know-caller.ts';

export function routeMe(app: FastifyInstance, parts: GatewayParts): void {
  app.get('/me', async (request, reply) => {
    const caller = await findCaller(request, parts);
    return caller.type === 'refusal' ? refuse(reply, caller) : answer(reply, meOf(caller, parts));
  });
}

/**
 * What a key tells of itself, of its member, and of what it can spend; of the rest of the account what that member may see by
 * the table of permissions (contracts/permissions.ts).
 */
function meOf({ accountId, account, key }: Caller, { projections, holds, clock }: GatewayParts): MeAnswer {
  const nowMs = clock();
  const month = monthOf(nowMs);
  const { spendLimits } = projections.accounts;
  const email = memberOfKey(account, key);
  const seesAccount = authorize({ type: 'member', email }, { type: 'ShowAccount' }, account) === null;
  const ofMember = spendLimits.ofMember(accountId, key.keyId, month);
  return {
    email,
    plan: account.plan,
    available_credits: exactNumber(spendable(account, nowMs)),
    ...(seesAccount ? { held_credits: exactNumber(holds.ofAccount(accountId)) } : {}),
    account: { id: accountId, kind: account.kind },
    key: {
      id: key.keyId,
      name: key.name,
      last4: key.last4,
      expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
      models: key.models,
    },
    month: {
      month,
      ...(seesAccount ? { account: limitOf(spendLimits.ofAccount(accountId, month)) } : {}),
      key: limitOf(spendLimits.ofKey(accountId, key.keyId, month)),
      ...(ofMember === null ? {} : { member: limitOf(ofMember) }),
    },
  };
}

const limitOf = ({ limit, spent }: SpendAgainstLimit): MeAnswer['month']['key'] => ({
  limit: limit === null ? null : exactNumber(limit),
  spent: exactNumber(spent),
});
