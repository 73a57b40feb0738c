import type { Outcome } from '../../contracts/events.ts';
import { FREE_USES } from '../../contracts/outside-input.ts';
import { type AccountBooks, compare, tell } from './own-account.ts';
import { isBefore, isBeforeBy, KNOWN_LATE_MS } from './own-times.ts';
import type { CardOf, StoredEvent, UsageData } from './stored-event.ts';

/** What each ending is: always charged, or never; null where that is the operator's choice. */
const CHARGED: Readonly<Record<Outcome, boolean | null>> = {
  completed: true,
  client_disconnected: true,
  upstream_interrupted: null,
  upstream_refused: false,
  recovered: false,
};

/** What a usage says of its request, beside what it costs; as it was recorded, or as it came late. */
export function auditRequest(books: AccountBooks, usage: UsageData, { type, metadata }: StoredEvent): void {
  const { requestId, outcome, billable, startedAt, finishedAt } = usage;
  const isCharged = CHARGED[outcome as Outcome];
  if (isCharged !== null && isCharged !== billable)
    tell(books, `${requestId}: whether it is charged for, having ended as ${outcome},`, billable, isCharged);
  if (isBefore(finishedAt, startedAt)) tell(books, `${requestId}: ends before it starts`, finishedAt, startedAt);
  auditKey(books, usage);
  auditStanding(books, usage);
  if (metadata === undefined) return;
  if (isBefore(metadata.recordedAt, finishedAt))
    tell(books, `${requestId}: is recorded before its end`, metadata.recordedAt, `${finishedAt} or later`);
  const { commandId } = metadata;
  if (commandId !== undefined && !isCommandOf(requestId, commandId, type === 'LateUsageReported'))
    tell(books, `${requestId}: recorded by the command of something else`, commandId);
}

/** Of its account's own, and one that has not ended long before. Keys may have been lost with what a ledger has lost. */
function auditKey(books: AccountBooks, { requestId, keyId, model, startedAt }: UsageData): void {
  const key = books.life.keys.get(keyId);
  if (key === undefined) {
    if (!books.isOfLost(startedAt)) tell(books, `${requestId}: its key, ${keyId}, was never issued`);
    return;
  }
  const { endsAt, models } = key;
  if (endsAt !== null && isBeforeBy(endsAt, startedAt, KNOWN_LATE_MS))
    tell(books, `${requestId}: starts long after its key, ${keyId}, has ended`, startedAt, `before ${endsAt}`);
  if (models !== null && !models.includes(model))
    tell(books, `${requestId}: is of a model that its key, ${keyId}, may not call`, model, models.join(', ') || 'none');
}

/** Of an account that was not suspended long before. That it was reinstated may have been lost with what a ledger has lost. */
function auditStanding(books: AccountBooks, { requestId, startedAt }: UsageData): void {
  const { suspension } = books.life;
  if (suspension === null || books.isOfLost(startedAt)) return;
  const { from, until } = suspension;
  if (!isBeforeBy(from, startedAt, KNOWN_LATE_MS) || (until !== null && !isBefore(startedAt, until))) return;
  const outside = until === null ? `before ${from}` : `before ${from}, or after ${until}`;
  tell(books, `${requestId}: starts while its account is suspended`, startedAt, outside);
}

/** A request's command has its UUID; what comes late has another: the first digit of the last part is turned. */
function isCommandOf(requestId: string, commandId: string, isLate: boolean): boolean {
  let at = 'req_'.length;
  for (let index = 0; index < commandId.length; index++) {
    const digit = commandId[index];
    if (digit === '-') continue;
    const own = requestId[at];
    if (digit !== (isLate && index === TURNED ? turned(own) : own)) return false;
    at++;
  }
  return at === requestId.length;
}

const TURNED = '01a1f19f-4391-70e7-86ed-'.length;
const turned = (digit = ''): string => (Number.parseInt(digit, 16) ^ 0x8).toString(16);

/** Uses that are charged for and have no price are listed as such, and no others are. */
export function auditUnpriced(books: AccountBooks, usage: UsageData, cardOf: CardOf): void {
  const { requestId, billable, uses = {}, unpriced = [] } = usage;
  const names = Object.keys(uses);
  if (names.length === 0 && unpriced.length === 0) return;
  const card = cardOf(usage);
  // That is told with its debit, or with the want of one.
  if (typeof card === 'string') return;
  const without = billable ? names.filter((name) => !FREE_USES.has(name) && !card.uses.has(name)) : [];
  const expected = without.map((name) => `server_tool_use.${name}: ${uses[name]}`);
  const listed = unpriced.filter((one) => IS_SURELY_PRICED.test(one) || IS_USE.test(one));
  compare(books, `${requestId}: what has no price`, textOf(listed), textOf(expected));
}

const IS_USE = /^server_tool_use\.\w+: \d+$/;
const IS_SURELY_PRICED = /^service_tier: (?:standard|priority)$/;

const textOf = (list: readonly string[]): string => list.toSorted().join(', ') || 'none';
