import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { AccountEvent, EventData, UsageRecorded } from '../../../contracts/events.ts';
import { accountId, accountStream, commandId, position, revision } from '../../../contracts/ids.ts';
import { NO_TOKENS } from '../../../contracts/usage.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { recordUsage } from '../../../ledger/account/record-usage.ts';
import { reconcile } from '../../../ledger/reconcile/reconcile.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { CARD, granted, opened, usageOf } from '../../fixtures/ledger/example-account.ts';

type Tokens = Partial<UsageRecorded['tokens']>;
interface Used extends Partial<Omit<UsageRecorded, 'tokens'>> {
  readonly tokens?: Tokens;
  readonly id?: string | null;
  readonly provider?: string;
}

let number = 0;
/** Usage of a day, of the provider `example` and its model `opal` where nothing else is said. */
export const used = (
  day: string,
  { id = null, provider = 'example', tokens = {}, ...rest }: Used = {},
): UsageRecorded =>
  usageOf(++number, 0, {
    upstream: { provider, model: 'opal', requestId: id },
    startedAt: `${day}T12:00:00.000Z`,
    finishedAt: `${day}T12:00:01.000Z`,
    tokens: { ...NO_TOKENS, ...tokens },
    ...rest,
  });

/** The log of accounts that used so much, their events in turn. */
export function logOf(...accounts: (readonly (UsageRecorded | AccountEvent)[])[]): RecordedEvent[] {
  const streams = accounts.map((usages, index) => {
    let state = fold([opened, granted('g', 1_000_000_000)]);
    const events = usages.flatMap((one) => {
      if (state.type !== 'open') throw new Error('not open');
      const made = 'type' in one ? [one] : recordUsage(state, one, CARD);
      for (const event of made) state = evolve(state, event);
      return made;
    });
    return encodeEvents(events, {
      commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
      ...{ actor: 'gateway', recordedAt: '2026-11-05T10:20:31.001Z' },
    }).map((event, at) => ({
      ...{ ...event, stream: accountStream(accountId(`a${index}`)), revision: revision(at), position: position(at) },
    }));
  });
  const most = Math.max(...streams.map(({ length }) => length));
  return Array.from({ length: most }, (_, at) => streams.flatMap((stream) => stream[at] ?? [])).flat();
}

export async function* chunked(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function* inTurn(events: readonly RecordedEvent[]): AsyncGenerator<RecordedEvent> {
  yield* events;
}

interface Asked {
  readonly from?: string;
  readonly to?: string;
  readonly ignored?: readonly string[];
  readonly size?: number;
}

/** What a comparison of a report with them shows; the report comes in pieces of seven bytes, where nothing else is said. */
export const compared = (
  report: string,
  events: readonly RecordedEvent[],
  { from, to, ignored = [], size = 7 }: Asked = {},
): Promise<EventData<'ProviderReconciled'>> =>
  reconcile(chunked(report, size), inTurn(events), {
    provider: 'example',
    known: ['example'],
    fromMs: from === undefined ? null : Date.parse(from),
    toMs: to === undefined ? null : Date.parse(to),
    ignored,
  });
