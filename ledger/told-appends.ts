import type { EventLog } from '../contracts/event-log.ts';
import type { LogBreaker } from './log-breaker.ts';

/** The log, with each append that it takes told to its breaker, whoever made it. */
export function toldAppends(log: EventLog, breaker: Pick<LogBreaker, 'appended'>): EventLog {
  return {
    append: async (stream, expectedRevision, events) => {
      const result = await log.append(stream, expectedRevision, events);
      if (result.type === 'appended') breaker.appended();
      return result;
    },
    readStream: log.readStream.bind(log),
    readAll: log.readAll.bind(log),
    subscribeAll: log.subscribeAll.bind(log),
    headPosition: log.headPosition.bind(log),
    close: log.close.bind(log),
    ...(log.followHidden === undefined ? {} : { followHidden: log.followHidden.bind(log) }),
  };
}
