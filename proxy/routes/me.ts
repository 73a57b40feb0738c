import type { FastifyInstance } from 'fastify';
import type { MeAnswer } from '../../contracts/answers.ts';
import { exactNumber } from '../../contracts/exact-number.ts';
import { spendable } from '../../ledger/account/leases.ts';
import { monthOf } from '../../ledger/account/month.ts';
import type { SpendAgainstLimit } from '../../projections/spend-limits.ts';
import { answer, refuse } from '../answer.ts';
import type { Caller } from '../caller.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import { findCaller } from './know-caller.ts';

export function routeMe(app: FastifyInstance, parts: GatewayParts): void {
  app.get('/me', (request, reply) => {
    const caller = findCaller(request, parts);
    return caller.type === 'refusal' ? refuse(reply, caller) : answer(reply, meOf(caller, parts));
  });
}

function meOf({ accountId, account, key }: Caller, { projections, holds, clock }: GatewayParts): MeAnswer {
  const nowMs = clock();
  const month = monthOf(nowMs);
  const { spendLimits } = projections.accounts;
  const ofMember = spendLimits.ofMember(accountId, key.keyId, month);
  return {
    email: account.email,
    plan: account.plan,
    available_credits: exactNumber(spendable(account, nowMs)),
    held_credits: exactNumber(holds.ofAccount(accountId)),
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
      account: limitOf(spendLimits.ofAccount(accountId, month)),
      key: limitOf(spendLimits.ofKey(accountId, key.keyId, month)),
      ...(ofMember === null ? {} : { member: limitOf(ofMember) }),
    },
  };
}

const limitOf = ({ limit, spent }: SpendAgainstLimit): MeAnswer['month']['account'] => ({
  limit: limit === null ? null : exactNumber(limit),
  spent: exactNumber(spent),
});
