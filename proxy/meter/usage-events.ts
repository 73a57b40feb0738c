/** The events that say something about usage or about the stream's end. */
const USAGE_EVENTS = ['message_start', 'message_delta', 'message_stop', 'error'] as const;
type UsageEvent = (typeof USAGE_EVENTS)[number];

export const isUsageEvent = (name: unknown): name is UsageEvent => USAGE_EVENTS.some((known) => known === name);

/** By its `event` field, else the first `type` in its data, unparsed. Null where neither names a usage event. */
export function overlongUsageEvent(beginning: Buffer): UsageEvent | null {
  const text = beginning.toString('latin1');
  const name = NAME_LINE.exec(text)?.[1] ?? FIRST_TYPE.exec(text)?.[1];
  return isUsageEvent(name) ? name : null;
}

const NAME_LINE = /(?:^|\n)event: ?([^\n]*)\n/;
const FIRST_TYPE = /"type"\s*:\s*"([^"]*)"/;
