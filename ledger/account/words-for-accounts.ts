import type { AccountEvent } from '../../contracts/events.ts';
import type { Actor } from '../../contracts/permissions.ts';
import type { OpenAccount } from './account-state.ts';
import { valuesOf } from './keyed-tree.ts';
import { type PaymentsState, withAttempt } from './payments-state.ts';

/** Who is told: the account itself, by its members, its requests and its statements; or operators, who are told a provider's own words. */
export type ToldTo = 'account' | 'operator';

export const toldTo = (actor: Actor): ToldTo => (actor.type === 'member' ? 'account' : 'operator');

/** What banks say of a card that whoever has it is not to learn; providers want it told as any other decline. */
const NOT_TOLD: ReadonlySet<string> = new Set([
  'fraudulent',
  'lost_card',
  'stolen_card',
  'pickup_card',
  'merchant_blacklist',
]);

interface Decline {
  readonly code: string;
  readonly isTerminal: boolean;
}

/** Why a payment was declined. That another try is in vain would tell such a card from others, too. */
export const declineAsTold = <T extends Decline>(to: ToldTo, decline: T): T =>
  isTold(to, decline.code) ? decline : { ...decline, code: declineWord(to, decline.code), isTerminal: false };

const isTold = (to: ToldTo, code: string): boolean => to === 'operator' || !NOT_TOLD.has(code);

const declineWord = (to: ToldTo, code: string): string => (isTold(to, code) ? code : 'card_declined');

/** For who asks for no more of an account than its plan: of its attempts there may be any number. */
export function planAsTold(to: ToldTo, plan: OpenAccount['billing']['plan']): OpenAccount['billing']['plan'] {
  const due = plan?.due ?? null;
  const declined = due?.declined ?? null;
  return plan === null || due === null || declined === null
    ? plan
    : { ...plan, due: { ...due, declined: declineWord(to, declined) } };
}

/** As the account is to be told it: the same, but for these words. */
export function accountAsTold<T extends Pick<OpenAccount, 'billing'>>(to: ToldTo, account: T): T {
  const { plan, payments } = account.billing;
  const paused = payments.reload?.paused ?? null;
  return {
    ...account,
    billing: {
      ...account.billing,
      plan: planAsTold(to, plan),
      payments: {
        ...(to === 'operator' ? payments : withoutForGood(payments)),
        reload:
          payments.reload === null || paused === null
            ? payments.reload
            : { ...payments.reload, paused: declineWord(to, paused) },
      },
    },
  };
}

/** Of an attempt the word is not kept: that another try is in vain is told of none. */
const withoutForGood = (payments: PaymentsState): PaymentsState =>
  valuesOf(payments.attempts)
    .filter(({ decline }) => decline === 'for good')
    .reduce((told, attempt) => withAttempt(told, { ...attempt, decline: 'this time' }), payments);

/** The same of an event. */
export function eventAsTold(to: ToldTo, event: AccountEvent): AccountEvent {
  switch (event.type) {
    case 'PaymentFailed':
      return { ...event, data: declineAsTold(to, event.data) };
    case 'AutoReloadPaused':
      return { ...event, data: { ...event.data, reason: declineWord(to, event.data.reason) } };
    default:
      return event;
  }
}
