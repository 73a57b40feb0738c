import type { Refusal } from '../../contracts/errors.ts';
import { microUsd, picoUsd } from '../../contracts/money.ts';
import type { GatewayParts } from '../gateway-parts.ts';
import type { Candidate } from './candidate.ts';
import { type MoneyRequest, NO_REMEDIES, refuseByMoney, takenByHolds } from './money-gate.ts';
import { worstCase } from './worst-case.ts';

/** What is known of a request before anybody has looked through its body. */
export type Unweighed = Pick<Candidate, 'caller' | 'valid' | 'terms' | 'mayRunFast'>;

/**
 * Whether a long request is refused before its body is gone through and weighed: where nothing is left of the balance, or
 * of a limit, nothing that it says can matter, and it shall not cost others their time. A short one costs none, and is told
 * what it could cost in all. Refuses nothing that the money gate would admit.
 */
export function refuseAtFirstLook(request: Unweighed, parts: GatewayParts): Refusal | null {
  const { caller, valid, terms, mayRunFast } = request;
  if (valid.body.length < LOOKED_AT_FIRST_BYTES_MIN) return null;
  const { accountId, key } = caller;
  const { state: account } = parts.projections.accounts.read(accountId);
  if (account.type === 'unopened') return null;
  const maxTokens = valid.request.max_tokens;
  const output = worstCase(terms.rateCard, mayRunFast ? 'fast' : 'standard', {
    inputTokens: 0,
    inputClass: 'input',
    maxTokens,
    uses: picoUsd(0n),
  });
  if (output.hold === 0n) return null;
  const { accounts } = parts.projections;
  const names = { accountId, account, keyId: key.keyId, fieldBehind: null, betaBehind: null, ...NO_REMEDIES };
  const asked: MoneyRequest = { ...names, worst: output, isOutputAlone: true, maxTokens, nowMs: parts.clock() };
  const taken = takenByHolds(asked, parts.holds);
  const least = { ...output, hold: microUsd(1n) };
  return refuseByMoney({ ...asked, worst: least }, accounts, taken) === null
    ? null
    : refuseByMoney(asked, accounts, taken);
}

/** Fewer bytes are gone through and weighed within a millisecond or two. */
const LOOKED_AT_FIRST_BYTES_MIN = 64 * 1024;
