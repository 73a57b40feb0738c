import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { type GrantId, grantId, namesPayment } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { GRANT_WORDS, periodInWords, sentenceOf, until } from './sentences.ts';
import { isOfPayments } from './statement-entries.ts';

/**
 * An event in a sentence for who may see the account's credits, and not its payments: what moved, without what was paid, at whom,
 * under which id, and what went back of it. Null where it tells of payments and nothing else.
 */
export function sentenceWithoutPayments(event: AccountEvent, actor: string): string | null {
  // For nothing: none is paid.
  if (event.type === 'RenewalStarted' && event.data.price === 0n)
    return `${periodInWords(event.data)} begins, for nothing`;
  if (isOfPayments(event.type)) return null;
  return bareSentence(event) ?? sentenceOf(namelessIn(event), undefined, actor);
}

const NOT_TOLD: ReadonlySet<EventData<'GrantRevoked'>['cause']> = new Set(['refund', 'dispute']);

/** Null where that is a payment's business. */
export const causeToldOf = (cause: EventData<'GrantRevoked'>['cause']): string | null =>
  NOT_TOLD.has(cause) ? null : cause;

/** Of what a payment has brought, and of what its money that went back has taken. */
function bareSentence(event: AccountEvent): string | null {
  switch (event.type) {
    case 'CreditsGranted':
      return namesPayment(event.data.grantId)
        ? `${GRANT_WORDS[event.data.source]} granted${until(event.data.expiresAt)}`
        : null;
    case 'GrantRevoked':
      return isOfMoney(event.data) ? 'credits revoked' : null;
    case 'GrantRestored':
      return isOfMoney(event.data) ? 'credits given back that were revoked' : null;
    default:
      return null;
  }
}

const isOfMoney = ({ cause, grantId: id }: Pick<EventData<'GrantRevoked'>, 'cause' | 'grantId'>): boolean =>
  NOT_TOLD.has(cause) || namesPayment(id);

/** Instead of its id, which has its payment's. */
const BOUGHT = grantId('credits that were paid for');

const nameless = <T extends { readonly grantId: GrantId }>(one: T): T =>
  namesPayment(one.grantId) ? { ...one, grantId: BOUGHT } : one;

function namelessIn(event: AccountEvent): AccountEvent {
  switch (event.type) {
    case 'CreditsGranted':
      return { ...event, data: { ...event.data, costBasis: microUsd(0n) } };
    case 'CreditsExpired':
      return { ...event, data: nameless(event.data) };
    case 'CreditsReinstated':
      return { ...event, data: nameless(event.data) };
    case 'GrantRevoked':
      return { ...event, data: { ...event.data, paymentId: null, setOff: event.data.setOff.map(nameless) } };
    case 'BalanceAdjusted':
      return { ...event, data: { ...event.data, setOff: event.data.setOff.map(nameless) } };
    case 'GrantRestored':
      return { ...event, data: { ...event.data, reinstated: event.data.reinstated.map(nameless) } };
    case 'DebitReversed':
      return { ...event, data: { ...event.data, reinstated: event.data.reinstated.map(nameless) } };
    default:
      return event;
  }
}
