import type streams from '@eventstore/db-client/generated/streams_pb.js';
import type { StoredEvent } from './stored-event.ts';

export interface EventFilter {
  matches(event: StoredEvent): boolean;
  /** A checkpoint is sent each time so many events have been considered. */
  readonly checkpointEvery: number;
}

/** What the server considers at a time where the client names no window. */
const WINDOW = 32;

/** The filter of a subscription to $all: prefixes or a regular expression, on the stream's name or the event's type. */
export function eventFilter(options: streams.ReadReq.Options.FilterOptions): EventFilter {
  const onStream = options.getStreamIdentifier();
  const expression = onStream ?? options.getEventType();
  const regex = expression?.getRegex() ? new RegExp(expression.getRegex()) : null;
  const prefixes = expression?.getPrefixList() ?? [];
  const matchesText = (text: string): boolean =>
    regex === null ? prefixes.some((prefix) => text.startsWith(prefix)) : regex.test(text);
  return {
    matches: (event) => matchesText(onStream === undefined ? event.type : event.stream),
    checkpointEvery: Math.max(1, options.getCheckpointintervalmultiplier()) * (options.getMax() || WINDOW),
  };
}
