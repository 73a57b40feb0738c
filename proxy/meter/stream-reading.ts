import { isObject, type JsonObject } from '../../contracts/json-object.ts';
import { exceedsBounds, parseBeginning, parseJson } from '../upstream/bounded-json.ts';
import { REQUEST_ID_CHARS_MAX } from '../upstream/upstream.ts';
import type { UpstreamWords } from '../upstream/upstream-words.ts';
import { BROKEN_EVENTS_MAX, ERROR_MESSAGE_MAX } from './limits.ts';
import { millitokensOfEvent } from './said-text.ts';
import { noteMalformed, nothingSeen, objectIn, spelledJson, takeUsage } from './seen-usage.ts';
import type { StreamEvent } from './stream-event.ts';
import { isUsageEvent } from './usage-events.ts';

const BEGINS_AS_OBJECT = /^[ \t\r\n]*\{/;

export interface UpstreamErrorEvent {
  /** As the upstream put it; empty where its event has none. */
  readonly type: string;
  /** At most ERROR_MESSAGE_MAX characters; the event's data where it has no message. */
  readonly message: string;
}

/** What was said so far. What comes after `message_stop` or `error` is no part of it, however the bytes fall. */
export class StreamReading {
  readonly #words: UpstreamWords;
  readonly usage = nothingSeen();
  /** `message_stop` was taken. */
  isStopped = false;
  /** Of a `message_delta`: the answer has ended, and its usage is the last word. Null until it is known. */
  stopReason: string | null = null;
  errorEvent: UpstreamErrorEvent | null = null;
  /** As it may stand in the ledger. */
  messageId: string | null = null;
  #hasSaidOutput = false;
  /** Events whose data is no JSON, though it begins as an object. */
  #broken = 0;

  constructor(words: UpstreamWords) {
    this.#words = words;
  }

  /** The message is over: nothing that comes is taken any more. */
  get isOver(): boolean {
    return this.isStopped || this.errorEvent !== null;
  }

  /** The usage is the last word: `message_start` only begins the output's, so a later event must have said it. */
  get isFinal(): boolean {
    return (this.isStopped || this.stopReason !== null) && this.#hasSaidOutput;
  }

  /**
   * Takes over one event. The name decides what it is; where there is none, or none of ours, the `type` in the data
   * does, as in the clients, which go by either. Of one with more in it than is read, what it says of usage is lost, and
   * that is told.
   */
  take({ name, data }: StreamEvent): void {
    if (this.isOver) return;
    const isUnread = exceedsBounds(data);
    const value = this.#objectOf(data, isUnread);
    const kind = isUsageEvent(name) ? name : isObject(value) ? value.type : null;
    switch (kind) {
      case 'message_start':
        if (isObject(value) && !isUnread) this.#takeStart(value.message, data);
        else noteMalformed(this.usage, 'message_start.data');
        return;
      case 'message_delta':
        if (isObject(value) && !isUnread) this.#takeDelta(value, data);
        else noteMalformed(this.usage, 'message_delta.data');
        return;
      case 'message_stop':
        // Whatever its data, it says that the stream is whole.
        this.isStopped = true;
        return;
      case 'error':
        this.errorEvent = errorIn(value, data);
        return;
      default:
        this.#weigh(value);
    }
  }

  /**
   * Undefined where the data is none. What cannot be parsed costs as much as fifty that can: what does not begin as an object
   * is not tried, and of a stream with so many that only begin as one nothing more is.
   */
  #objectOf(data: string, isUnread: boolean): unknown {
    if (this.#broken >= BROKEN_EVENTS_MAX || !BEGINS_AS_OBJECT.test(data)) return undefined;
    const value = isUnread ? parseBeginning(data) : parseJson(data);
    if (value === undefined && ++this.#broken === BROKEN_EVENTS_MAX) noteMalformed(this.usage, 'data');
    return value;
  }

  /**
   * Takes over what stands at the stream's end without its blank line, where it is whole all the same: the upstream has
   * said it. (WHATWG drops such an event, and so do clients.) Of one that is cut, what it has said by then.
   */
  takeUnended(event: StreamEvent): void {
    if (isObject(parseJson(event.data))) this.take(event);
    else this.takeBeginning(event);
  }

  /** Of an event whose end is not there, or not kept, what its text is worth. */
  takeBeginning({ name, data }: StreamEvent): void {
    const value = parseBeginning(data);
    const isAboutUsage = isUsageEvent(name) || (isObject(value) && isUsageEvent(value.type));
    if (!this.isOver && !isAboutUsage) this.#weigh(value);
  }

  #weigh(value: unknown): void {
    if (isObject(value)) this.usage.textMillitokens += millitokensOfEvent(value);
  }

  #takeStart(value: unknown, data: string): void {
    const message = objectIn(this.usage, value, 'message_start.message');
    if (message === null) return;
    if (typeof message.id === 'string') this.messageId = this.#words.clean(message.id, REQUEST_ID_CHARS_MAX);
    if (typeof message.model === 'string') this.usage.model = message.model;
    takeUsage(this.usage, message.usage, 'message_start.message.usage', this.#words, () => {
      const spelled = spelledJson(data);
      return isObject(spelled) && isObject(spelled.message) ? spelled.message.usage : undefined;
    });
  }

  #takeDelta({ delta, usage }: JsonObject, data: string): void {
    if (isObject(delta) && typeof delta.stop_reason === 'string') this.stopReason = delta.stop_reason;
    takeUsage(this.usage, usage, 'message_delta.usage', this.#words, () => {
      const spelled = spelledJson(data);
      return isObject(spelled) ? spelled.usage : undefined;
    });
    const said = isObject(usage) ? usage.output_tokens : null;
    // What was said and not taken is malformed: then the last word is missing.
    if (said !== null && said !== undefined) this.#hasSaidOutput = said === this.usage.outputTokens;
  }
}

function errorIn(value: unknown, data: string): UpstreamErrorEvent {
  const error = isObject(value) && isObject(value.error) ? value.error : {};
  const message = typeof error.message === 'string' ? error.message : data;
  return { type: typeof error.type === 'string' ? error.type : '', message: message.slice(0, ERROR_MESSAGE_MAX) };
}
