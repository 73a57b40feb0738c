import { decodeRecorded } from '../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../contracts/event-log.ts';
import { type EventData, isAccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountOfStream, LEDGER_STREAM, SEALS_STREAM } from '../../contracts/ids.ts';
import type { LedgerIdentity } from '../../contracts/ledger-identity.ts';
import { monthOfInstant } from '../account/month.ts';
import { AccountBooks, type TimeBooks } from './account-books.ts';
import { type Books, booksOf, type Reconciliation, sumOf } from './books.ts';
import { ModelBooks } from './model-books.ts';
import { noMovements } from './movements.ts';
import { Notes } from './notes.ts';
import type { SealCoverage } from './seal-coverage.ts';

/** What moves no money, and has no note: not even decoded. */
const IDLE: ReadonlySet<string> = new Set([
  'ApiKeyIssued',
  'ApiKeyRevoked',
  'PlanChanged',
  'CreditsLeased',
  'LeaseReleased',
  'LeaseNarrowed',
  'SpendLimitSet',
  'SpendThresholdCrossed',
  'AccountSuspended',
  'AccountReinstated',
]);

/**
 * The books of a month, from every event of the log in log order. An event belongs to the month in which it was written down
 * (`recordedAt`): so the books of a month never change once it is over, and a month opens as the one before has closed.
 * Keeps accounts, their open grants and models, and nothing of single requests.
 */
export class MonthBooks {
  readonly month: string;
  readonly #before: TimeBooks = { movements: noMovements() };
  readonly #in: Required<TimeBooks>;
  readonly #accounts = new Map<AccountId, AccountBooks>();
  #identity: LedgerIdentity | null = null;
  readonly #reconciled: Reconciliation[] = [];
  readonly #seals: SealCoverage;
  /** In the order in which events are sealed: those of all streams but the seals' own. */
  #ordinal = -1;
  #sealedOfMonth = 0;
  #events = 0;
  #eventsOfMonth = 0;

  /** @param month as "2026-11"; @param seals all that there are */
  constructor(month: string, seals: SealCoverage) {
    this.month = month;
    this.#seals = seals;
    const [year = 0, number = 0] = month.split('-').map(Number);
    const days = new Date(Date.UTC(year, number, 0)).getUTCDate();
    this.#in = {
      movements: noMovements(),
      month: {
        models: new ModelBooks(),
        notes: new Notes(),
        days: Array.from({ length: days }, () => 0n),
        disagreeing: 0,
      },
    };
  }

  /** @throws UnreadableEventError: books that leave an event out are none */
  take(recorded: RecordedEvent): void {
    this.#events += 1;
    if (recorded.stream !== SEALS_STREAM) this.#ordinal += 1;
    const id = accountOfStream(recorded.stream);
    if (id === null && recorded.stream !== LEDGER_STREAM && recorded.type !== 'ProviderReconciled') return;
    if (IDLE.has(recorded.type)) return;
    const { event, metadata } = decodeRecorded(recorded);
    const books = this.#booksAt(metadata.recordedAt);
    if (books === this.#in) {
      this.#eventsOfMonth += 1;
      if (this.#ordinal < this.#seals.sealedThrough) this.#sealedOfMonth += 1;
    }
    if (id !== null && isAccountEvent(event)) this.#accountOf(id).take(event, books, metadata);
    if (event.type === 'LedgerIdentified' || event.type === 'LossAccepted') this.#identity = event.data;
    if (event.type === 'ProviderReconciled' && books === this.#in)
      this.#reconciled.push(reconciliation(event.data, metadata.recordedAt));
    if (event.type === 'LossAccepted' && books === this.#in) {
      const { generation, reason, actor } = event.data;
      const what = `a loss of the ledger was accepted: generation ${generation} began`;
      const at = metadata.recordedAt;
      this.#in.month.notes.add({ at, account: null, what, requestId: null, amount: null, why: `${reason} (${actor})` });
    }
  }

  result(): Books {
    return booksOf({
      month: this.month,
      identity: this.#identity,
      events: this.#events,
      eventsOfMonth: this.#eventsOfMonth,
      sealedOfMonth: this.#sealedOfMonth,
      seals: this.#seals,
      reconciled: this.#reconciled,
      before: this.#before.movements,
      moved: this.#in.movements,
      accounts: [...this.#accounts.values()],
      ...this.#in.month,
    });
  }

  #booksAt(recordedAt: string): TimeBooks | null {
    const month = monthOfInstant(recordedAt);
    if (month === this.month) return this.#in;
    return month < this.month ? this.#before : null;
  }

  #accountOf(id: AccountId): AccountBooks {
    let account = this.#accounts.get(id);
    if (account === undefined) {
      account = new AccountBooks(id);
      this.#accounts.set(id, account);
    }
    return account;
  }
}

function reconciliation(
  { provider, by, from, to, counts, lines }: EventData<'ProviderReconciled'>,
  at: string,
): Reconciliation {
  const compared = lines.filter(({ tokenClass }) => tokenClass === 'all');
  const tokens = { ours: sumOf(compared, ({ ours }) => ours), theirs: sumOf(compared, ({ theirs }) => theirs ?? 0n) };
  return { provider, by, from, to, counts, at, ...tokens };
}
