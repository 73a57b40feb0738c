import { decodeEvent, encodeEvents } from '../../../contracts/event-codec.ts';
import type { ProposedEvent } from '../../../contracts/event-log.ts';
import { type AccountEvent, isAccountEvent, type UsageRecorded } from '../../../contracts/events.ts';
import {
  type AccountId,
  accountId,
  accountStream,
  commandId,
  commandOfRequest,
  grantId,
  type RequestId,
  revision,
} from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { loadAccount } from '../../../ledger/account/load-account.ts';
import { LogBreaker } from '../../../ledger/log-breaker.ts';
import { Settlement } from '../../../ledger/settlement/settlement.ts';
import { TIMING, type Timing } from '../../../ledger/timing.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { CARD, granted, KEY, keyIssued, opened, usageOf } from '../account/example-account.ts';
import { heldPause } from './held-pauses.ts';
import { type AppendFault, MemoryEventLog } from './memory-event-log.ts';
import { promptPause } from './prompt-pauses.ts';

/** Accounts with credits in a log in memory, a book that has folded them, and what settlement tells. */
export interface SettlementScene {
  readonly log: MemoryEventLog;
  readonly book: AccountViews;
  readonly settlement: Settlement;
  readonly breaker: LogBreaker;
  readonly settled: RequestId[];
  readonly stuck: { readonly requestId: RequestId; readonly error: unknown }[];
  readonly away: unknown[];
  /** How often the log was told to be back. */
  readonly back: () => number;
  /** Told of requests that wait for an account that is set aside. */
  onAside: (requestIds: readonly RequestId[]) => void;
}

export const account = (number: number): AccountId => accountId(`a${number}`);

/** Makes each account once; on a log that has them, starts over from what it holds, as after a restart. */
export async function settlementScene(
  accounts: number,
  log = new MemoryEventLog(),
  waitsForEarlier = false,
  isUnderWay: (requestId: RequestId) => boolean = () => false,
  pause: Timing['pause'] = TIMING.pause,
): Promise<SettlementScene> {
  const book = new AccountViews();
  if (log.events.length === 0) for (let number = 0; number < accounts; number++) openOn(log, number);
  for (const recorded of log.events) foldInto(book, recorded);
  return watch(log, book, { waitsForEarlier, isUnderWay, pause });
}

/** The same where each wait is over at once (prompt-pauses.ts). */
export const promptScene = (accounts: number, log?: MemoryEventLog): Promise<SettlementScene> =>
  settlementScene(accounts, log, false, undefined, promptPause);

/** The same where each wait ends when the test says so (held-pauses.ts). */
export const heldScene = (accounts: number): Promise<SettlementScene> =>
  settlementScene(accounts, undefined, false, undefined, heldPause);

function watch(
  log: MemoryEventLog,
  book: AccountViews,
  how: {
    readonly waitsForEarlier: boolean;
    readonly isUnderWay: (requestId: RequestId) => boolean;
    readonly pause: Timing['pause'];
  },
): SettlementScene {
  const { pause, ...chosen } = how;
  const settled: RequestId[] = [];
  const stuck: { requestId: RequestId; error: unknown }[] = [];
  const away: unknown[] = [];
  let back = 0;
  const breaker = new LogBreaker(Date.now);
  breaker.onFailed((error) => away.push(error));
  breaker.onAnswered((wasAway) => {
    if (wasAway) back++;
  });
  const settlement = new Settlement({
    log,
    book,
    clock: () => Date.parse('2026-11-06T12:00:02.000Z'),
    breaker,
    timing: { ...TIMING, pause },
    onSettled: (_accountId, { requestId }) => settled.push(requestId),
    onStuck: (requestId, error) => stuck.push({ requestId, error }),
    onAside: (requestIds) => scene.onAside(requestIds),
    ...chosen,
  });
  const scene: SettlementScene = {
    log,
    book,
    settlement,
    breaker,
    settled,
    stuck,
    away,
    back: () => back,
    onAside: () => undefined,
  };
  return scene;
}

function openOn(log: MemoryEventLog, number: number): void {
  const birth = { ...opened, data: { ...opened.data, accountId: account(number) } } as AccountEvent;
  const uuid = commandId(`019a5b3c-1111-7000-8000-${number.toString(16).padStart(8, '0')}0000`);
  log.write(
    accountStream(account(number)),
    encodeEvents([birth, granted('g', 1_000_000), keyIssued()], { commandId: uuid, actor: 'operator', recordedAt: AT }),
  );
}
const AT = '2026-11-05T10:00:00.000Z';

export function foldInto(book: AccountViews, recorded: MemoryEventLog['events'][number]): void {
  const event = decodeEvent(recorded);
  if (!isAccountEvent(event)) throw new Error(`${event.type} in an account's stream`);
  book.fold(accountId(recorded.stream.slice('account-'.length)), recorded.revision, event);
}

/** Submits requests of so many tokens of output, from the numbers on. */
export function submit(scene: SettlementScene, of: AccountId, ...usages: readonly UsageRecorded[]): void {
  for (const usage of usages) scene.settlement.submit(of, usage, CARD);
}

export const usages = (from: number, count: number): UsageRecorded[] =>
  Array.from({ length: count }, (_, index) => usageOf(from + index, 1 + (index % 3)));

/** What a grant by somebody else looks like in an append. */
export function foreignGrant(number: number): ProposedEvent[] {
  const uuid = commandId(`019a5b3c-2222-7000-8000-${number.toString(16).padStart(8, '0')}0000`);
  return encodeEvents([granted(`foreign-${number}`, 10, { costBasis: microUsd(0n), grantId: grantId(`f${number}`) })], {
    commandId: uuid,
    actor: 'operator',
    recordedAt: AT,
  });
}

/** The faults of the next appends, one each; none after them. */
export function nextFaults({ log }: SettlementScene, ...faults: readonly AppendFault[]): void {
  const left = [...faults];
  log.faults = () => left.shift() ?? { type: 'none' };
}

/** The events that settle a request, as another program on the same state would write them. */
export function settledElsewhere(
  scene: SettlementScene,
  of: AccountId,
  events: readonly AccountEvent[],
  usage: UsageRecorded,
) {
  scene.log.write(
    accountStream(of),
    encodeEvents(events, { commandId: commandOfRequest(usage.requestId), actor: KEY, recordedAt: AT }),
  );
}

/** Events of an account's stream, decoded. */
export const eventsOf = ({ log }: SettlementScene, of: AccountId): AccountEvent[] =>
  log.events
    .filter(({ stream }) => stream === accountStream(of))
    .map(decodeEvent)
    .filter(isAccountEvent);

/** How often each request's usage and debit stand in the ledger: `<request id>` to `usages/debits`. */
export function billed({ log }: Pick<SettlementScene, 'log'>): Map<RequestId, string> {
  const counts = new Map<RequestId, [number, number]>();
  for (const event of log.events.map(decodeEvent)) {
    if (event.type !== 'UsageRecorded' && event.type !== 'CreditsDebited') continue;
    const [usagesSeen, debitsSeen] = counts.get(event.data.requestId) ?? [0, 0];
    const next: [number, number] =
      event.type === 'UsageRecorded' ? [usagesSeen + 1, debitsSeen] : [usagesSeen, debitsSeen + 1];
    counts.set(event.data.requestId, next);
  }
  return new Map([...counts].map(([id, seen]) => [id, seen.join('/')]));
}

export const once = (of: readonly UsageRecorded[]): Map<RequestId, string> =>
  new Map(of.map(({ requestId }) => [requestId, '1/1']));

/** Whether the book holds exactly what the log does. */
export async function bookEqualsLog({ log, book }: SettlementScene, of: AccountId): Promise<boolean> {
  const loaded = await loadAccount(log, of);
  const read = book.read(of);
  const text = (value: unknown) =>
    JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `${inner}` : inner));
  return read.revision === revision(loaded.revision) && text(read.state) === text(loaded.state);
}
