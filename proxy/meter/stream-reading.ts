import { ERROR_MESSAGE_MAX } from './limits.ts';
import { isObject, noteMalformed, nothingSeen, objectIn, takeUsage } from './seen-usage.ts';
import type { StreamEvent } from './stream-event.ts';
import { isUsageEvent } from './usage-events.ts';

export interface UpstreamErrorEvent {
  /** As the upstream put it; empty where its event has none. */
  readonly type: string;
  /** At most ERROR_MESSAGE_MAX characters; the event's data where it has no message. */
  readonly message: string;
}

/** What the usage events of one stream have said so far. */
export class StreamReading {
  readonly usage = nothingSeen();
  complete = false;
  /** The first one. */
  errorEvent: UpstreamErrorEvent | null = null;
  messageId: string | null = null;

  /**
   * Takes over one event. The name decides what it is; where there is none, or none of ours, the `type` in the data
   * does, as in the clients, which go by either.
   */
  take({ name, data }: StreamEvent): void {
    const value = parse(data);
    const kind = isUsageEvent(name) ? name : isObject(value) ? value.type : null;
    switch (kind) {
      case 'message_start':
        if (isObject(value)) this.#takeStart(value.message);
        else noteMalformed(this.usage, 'message_start.data');
        return;
      case 'message_delta':
        if (isObject(value)) takeUsage(this.usage, value.usage, 'message_delta.usage');
        else noteMalformed(this.usage, 'message_delta.data');
        return;
      case 'message_stop':
        // Whatever its data, it says that the stream is whole.
        this.complete = true;
        return;
      case 'error':
        this.errorEvent ??= errorIn(value, data);
    }
  }

  #takeStart(value: unknown): void {
    const message = objectIn(this.usage, value, 'message_start.message');
    if (message === null) return;
    if (typeof message.id === 'string') this.messageId = message.id;
    if (typeof message.model === 'string') this.usage.model = message.model;
    takeUsage(this.usage, message.usage, 'message_start.message.usage');
  }
}

function errorIn(value: unknown, data: string): UpstreamErrorEvent {
  const error = isObject(value) && isObject(value.error) ? value.error : {};
  const message = typeof error.message === 'string' ? error.message : data;
  return { type: typeof error.type === 'string' ? error.type : '', message: message.slice(0, ERROR_MESSAGE_MAX) };
}

/** The value of a JSON text; undefined where it is none, which the caller tells as malformed where it matters. */
function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
