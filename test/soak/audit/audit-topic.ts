import type { LoggedStream } from '../event-file.ts';
import type { TopicMessage } from '../topic-record.ts';

export interface TopicAudit {
  readonly faults: readonly string[];
  /** Messages that say again what another had said before. */
  readonly duplicates: number;
  /** From an event's append until a reader of the topic had it for the first time, in ms. */
  readonly lagsMs: readonly number[];
}

/**
 * Every event is on the topic at least once, with the same data; whoever leaves out what it has seen before sees each
 * stream's events in order and without a gap; a stream stays in one partition. Nothing is there that the log lacks.
 */
export function auditTopic(messages: readonly TopicMessage[], streams: readonly LoggedStream[]): TopicAudit {
  const faults: string[] = [];
  const byStream = Map.groupBy(messages, ({ stream }) => stream);
  const lagsMs: number[] = [];
  for (const { stream, events } of streams) {
    const found = byStream.get(stream) ?? [];
    byStream.delete(stream);
    lagsMs.push(...auditStream(stream, events, found, faults));
  }
  for (const stream of byStream.keys()) faults.push(`topic: messages of ${stream}, which the log does not have`);
  return { faults, duplicates: messages.length - lagsMs.length, lagsMs };
}

/** Returns the lags of the messages that said something new. */
function auditStream(
  stream: string,
  events: LoggedStream['events'],
  found: readonly TopicMessage[],
  faults: string[],
): number[] {
  const lagsMs: number[] = [];
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
    if (message.revision >= next) lagsMs.push(message.atMs - (logged?.createdMs ?? message.atMs));
    next = Math.max(next, message.revision + 1);
  }
  if (next !== events.length)
    faults.push(`topic: ${stream} ends at revision ${next - 1}, in the log at ${events.length - 1}`);
  return lagsMs;
}
