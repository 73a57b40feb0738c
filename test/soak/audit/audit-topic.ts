import type { LoggedStream } from '../logged-stream.ts';
import type { TopicMessage } from '../topic-record.ts';

/** From an event's append until a reader of the topic had it for the first time, in ms since 1970. */
export interface Wait {
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface TopicAudit {
  readonly faults: readonly string[];
  /** Events of the log that no message tells. */
  readonly lost: number;
  /** Messages that tell an event for the first time, before an earlier one of its stream or after a later one. */
  readonly outOfOrder: number;
  /** Messages that say again what another had said before. */
  readonly duplicates: number;
  /** Of events that were appended since the reader is there: what was there before has waited for relays to be started. */
  readonly waits: readonly Wait[];
}

/**
 * Every event is on the topic at least once, with the same data; whoever leaves out what it has seen before sees each
 * stream's events in order and without a gap; a stream stays in one partition. Nothing is there that the log lacks.
 */
export function auditTopic(messages: readonly TopicMessage[], streams: readonly LoggedStream[]): TopicAudit {
  const faults: string[] = [];
  const byStream = Map.groupBy(messages, ({ stream }) => stream);
  const readFromMs = messages.reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
  const waits: Wait[] = [];
  let [lost, outOfOrder, duplicates] = [0, 0, messages.length];
  for (const { stream, events } of streams) {
    const found = byStream.get(stream) ?? [];
    byStream.delete(stream);
    const { firsts, isOrdered } = auditStream(stream, events, found, faults);
    lost += events.filter(({ revision }) => !firsts.has(revision)).length;
    outOfOrder += isOrdered.filter((ordered) => !ordered).length;
    duplicates -= firsts.size;
    for (const { atMs: untilMs, createdMs: fromMs } of firsts.values())
      if (fromMs >= readFromMs) waits.push({ fromMs, untilMs });
  }
  for (const stream of byStream.keys()) faults.push(`topic: messages of ${stream}, which the log does not have`);
  return { faults, lost, outOfOrder, duplicates, waits };
}

interface StreamAudit {
  /** When the messages that said something new were read and their events appended, by revision. */
  readonly firsts: ReadonlyMap<number, { readonly atMs: number; readonly createdMs: number }>;
  /** Of each of them, whether it was the next one. */
  readonly isOrdered: readonly boolean[];
}

function auditStream(
  stream: string,
  events: LoggedStream['events'],
  found: readonly TopicMessage[],
  faults: string[],
): StreamAudit {
  const firsts = new Map<number, { atMs: number; createdMs: number }>();
  const isOrdered: boolean[] = [];
  const key = stream.startsWith('account-') ? stream.slice('account-'.length) : stream;
  if (new Set(found.map(({ partition }) => partition)).size > 1)
    faults.push(`topic: ${stream} is in several partitions`);
  let next = 0;
  for (const message of found) {
    const { revision } = message;
    const logged = events[revision];
    const where = `topic: ${stream} revision ${revision}`;
    if (logged === undefined) faults.push(`${where} is not in the log`);
    else if (logged.type !== message.type || JSON.stringify(logged.data) !== JSON.stringify(JSON.parse(message.data)))
      faults.push(`${where} is not what the log has there`);
    if (message.key !== key) faults.push(`${where} has the key ${message.key}`);
    if (revision > next) faults.push(`${where} comes before revision ${next}`);
    if (!firsts.has(revision)) {
      firsts.set(revision, { atMs: message.atMs, createdMs: logged?.createdMs ?? message.atMs });
      isOrdered.push(revision === next);
    }
    next = Math.max(next, revision + 1);
  }
  if (next !== events.length)
    faults.push(`topic: ${stream} ends at revision ${next - 1}, in the log at ${events.length - 1}`);
  return { firsts, isOrdered };
}
