import { type EventLog, isLogAway, type RecordedEvent } from '../contracts/event-log.ts';
import type { LogBreaker } from './log-breaker.ts';

/**
 * The log, with each append that it takes told to its breaker, whoever made it; and, where no view follows it, each read
 * that it does not answer told to `readFailed`.
 */
export function toldLog(
  log: EventLog,
  breaker: Pick<LogBreaker, 'appended'>,
  readFailed: () => void = () => undefined,
): EventLog {
  const failed = (error: unknown): never => {
    if (isLogAway(error)) readFailed();
    throw error;
  };
  async function* told(events: AsyncIterable<RecordedEvent>): AsyncIterable<RecordedEvent> {
    try {
      yield* events;
    } catch (error) {
      failed(error);
    }
  }
  return {
    append: async (stream, expectedRevision, events) => {
      const result = await log.append(stream, expectedRevision, events);
      if (result.type === 'appended') breaker.appended();
      return result;
    },
    readStream: (stream, options) => told(log.readStream(stream, options)),
    readAll: (options) => told(log.readAll(options)),
    subscribeAll: log.subscribeAll.bind(log),
    headPosition: () => log.headPosition().catch(failed),
    close: log.close.bind(log),
    ...(log.followHidden === undefined ? {} : { followHidden: log.followHidden.bind(log) }),
    ...(log.readLeaves === undefined ? {} : { readLeaves: log.readLeaves.bind(log) }),
  };
}
