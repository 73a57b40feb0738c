import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent, CreditsDebited, EventType } from '../../contracts/events.ts';
import type { AccountId } from '../../contracts/ids.ts';
import { PICO_PER_MICRO } from '../../contracts/money.ts';
import { accountEventOf } from '../../ledger/account/account-event.ts';

/** Of one account, or of all. */
export interface MoneySums {
  balanceMicroUsd: bigint;
  billedPicoUsd: bigint;
}

const COUNTED: ReadonlySet<string> = new Set<EventType>([
  'CreditsGranted',
  'CreditsReinstated',
  'CreditsExpired',
  'GrantRevoked',
  'GrantRestored',
  'DebitReversed',
  'BalanceAdjusted',
  'CreditsDebited',
  'ExceptionApproved',
]);

const NONE: Readonly<MoneySums> = { balanceMicroUsd: 0n, billedPicoUsd: 0n };

/** What one event of an account adds to its money, without any state: no view is asked. @throws AccountUnreadableError */
export const moneyOf = (id: AccountId, recorded: RecordedEvent): Readonly<MoneySums> =>
  COUNTED.has(recorded.type) ? added(accountEventOf(id, recorded)) : NONE;

function added({ type, data }: AccountEvent): Readonly<MoneySums> {
  switch (type) {
    case 'CreditsGranted':
    case 'CreditsReinstated':
    case 'GrantRestored':
      return { balanceMicroUsd: data.amount, billedPicoUsd: 0n };
    case 'CreditsExpired':
    case 'GrantRevoked':
      return { balanceMicroUsd: -data.amount, billedPicoUsd: 0n };
    case 'BalanceAdjusted':
      return { balanceMicroUsd: data.direction === 'up' ? data.amount : -data.amount, billedPicoUsd: 0n };
    case 'DebitReversed':
      return { balanceMicroUsd: data.amount, billedPicoUsd: -data.amount * PICO_PER_MICRO };
    case 'CreditsDebited':
      return { balanceMicroUsd: -data.amount, billedPicoUsd: billedBy(data) };
    case 'ExceptionApproved':
      return { balanceMicroUsd: -data.amount, billedPicoUsd: data.cost };
    default:
      return NONE;
  }
}

const billedBy = ({ lines, uses, leftOut }: CreditsDebited): bigint =>
  [...lines, ...uses].reduce((sum, { cost }) => sum + cost, -leftOut * PICO_PER_MICRO);
