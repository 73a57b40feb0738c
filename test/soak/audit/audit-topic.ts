import type { LoggedStream } from '../event-file.ts';
import type { TopicMessage } from '../topic-record.ts';

export interface TopicAudit {
  readonly faults: readonly string[];
  /** Messages that say again what another had said before. */
  readonly duplicates: number;
  /**
   * From an event's append until a reader of the topic had it for the first time, in ms. Of events that were appended
   * since the reader is there: what was there before has waited for relays and reader to be started.
   */
  readonly lagsMs: readonly number[];
}

/**
 * Every event is on the topic at least once, with the same data; whoever leaves out what it has seen before sees each
 * stream's events in order and without a gap; a stream stays in one partition. Nothing is there that the log lacks.
 */
export function auditTopic(messages: readonly TopicMessage[], streams: readonly LoggedStream[]): TopicAudit {
  const faults: string[] = [];
  const byStream = Map.groupBy(messages, ({ stream }) => stream);
  const readFromMs = messages.reduce((least, { atMs }) => Math.min(least, atMs), Number.POSITIVE_INFINITY);
  const lagsMs: number[] = [];
  let duplicates = messages.length;
  for (const { stream, events } of streams) {
    const found = byStream.get(stream) ?? [];
    byStream.delete(stream);
    const firsts = auditStream(stream, events, found, faults);
    duplicates -= firsts.length;
    for (const { atMs, createdMs } of firsts) if (createdMs >= readFromMs) lagsMs.push(atMs - createdMs);
  }
  for (const stream of byStream.keys()) faults.push(`topic: messages of ${stream}, which the log does not have`);
  return { faults, duplicates, lagsMs };
}

/** Returns when the messages that said something new were read, and when their events were appended. */
function auditStream(
  stream: string,
  events: LoggedStream['events'],
  found: readonly TopicMessage[],
  faults: string[],
): { readonly atMs: number; readonly createdMs: number }[] {
  const firsts: { atMs: number; createdMs: number }[] = [];
  const key = stream.startsWith('account-') ? stream.slice('account-'.length) : stream;
  if (new Set(found.map(({ partition }) => partition)).size > 1)
    faults.push(`topic: ${stream} is in several partitions`);
  let next = 0;
  for (const message of found) {
    const logged = events[message.revision];
    const where = `topic: ${stream} revision ${message.revision}`;
    if (logged === undefined) faults.push(`${where} is not in the log`);
    else if (logged.type !== message.type || JSON.stringify(logged.data) !== JSON.stringify(JSON.parse(message.data)))
      faults.push(`${where} is not what the log has there`);
    if (message.key !== key) faults.push(`${where} has the key ${message.key}`);
    if (message.revision > next) faults.push(`${where} comes before revision ${next}`);
    if (message.revision >= next) firsts.push({ atMs: message.atMs, createdMs: logged?.createdMs ?? message.atMs });
    next = Math.max(next, message.revision + 1);
  }
  if (next !== events.length)
    faults.push(`topic: ${stream} ends at revision ${next - 1}, in the log at ${events.length - 1}`);
  return firsts;
}
