import { ERROR_MESSAGE_MAX, MALFORMED_MAX } from '../../../proxy/meter/limits.ts';

/**
 * A slow, plain reading of a stream, to hold the meter against: the WHATWG event stream algorithm over the decoded text,
 * then JSON.parse of every event up to `message_stop` or `error`. It shares no code with the meter.
 *
 * @param hasEnded no more bytes come: what is whole but for its blank line counts, and a known `stop_reason` completes
 */
export function readStream(bytes: Buffer, hasEnded = false): ReferenceReading {
  const { events, unended, atBoundary } = eventsOf(bytes);
  const reading: ReferenceReading = {
    fields: {},
    malformed: [],
    complete: false,
    final: false,
    error: null,
    id: null,
    atBoundary,
  };
  const isWhole = unended.data !== '' && isPlain(parse(unended.data));
  let hasReason = false;
  let hasOutput = false;
  for (const { name, data } of hasEnded && isWhole ? [...events, unended] : events) {
    const value = parse(data);
    const type = KINDS.includes(name) ? name : isPlain(value) ? value.type : null;
    if (type === 'message_stop') reading.complete = true;
    if (type === 'error') reading.error = errorOf(value, data);
    if (type === 'message_stop' || type === 'error') break;
    if (type !== 'message_start' && type !== 'message_delta') continue;
    if (!isPlain(value)) noteOnce(reading, `${type}.data`);
    else if (type === 'message_delta') {
      if (isPlain(value.delta) && typeof value.delta.stop_reason === 'string') hasReason = true;
      const said = isPlain(value.usage) ? (value.usage.output_tokens ?? null) : null;
      if (said !== null) hasOutput = isCount(said);
      takeUsage(reading, value.usage, 'message_delta.usage');
    } else if (isPlain(value.message)) {
      if (typeof value.message.id === 'string')
        reading.id = value.message.id.replace(/[\t-\r]/g, ' ').replace(/[^ -~]/g, '?');
      if (typeof value.message.model === 'string') reading.fields.model = value.message.model;
      takeUsage(reading, value.message.usage, 'message_start.message.usage');
    } else if (value.message !== null && value.message !== undefined) noteOnce(reading, 'message_start.message');
  }
  reading.final = (reading.complete || hasReason) && hasOutput;
  reading.complete ||= hasEnded && hasReason && reading.error === null;
  return reading;
}

export interface ReferenceReading {
  /** By the names of the meter; a field that was never said is absent. */
  readonly fields: Record<string, number | string>;
  readonly malformed: string[];
  complete: boolean;
  /** The usage is the last word. */
  final: boolean;
  error: { readonly type: string; readonly message: string } | null;
  id: string | null;
  readonly atBoundary: boolean;
}

type Plain = { readonly [field: string]: unknown };

const KINDS = ['message_start', 'message_delta', 'message_stop', 'error'];

const FIELDS = [
  ['input_tokens', 'inputTokens'],
  ['output_tokens', 'outputTokens'],
  ['cache_read_input_tokens', 'cacheReadTokens'],
  ['cache_creation_input_tokens', 'cacheCreationTokens'],
  ['cache_creation', null],
  ['cache_creation.ephemeral_5m_input_tokens', 'cacheCreation5mTokens'],
  ['cache_creation.ephemeral_1h_input_tokens', 'cacheCreation1hTokens'],
  ['service_tier', 'serviceTier'],
] as const;

interface ReferenceEvent {
  readonly name: string;
  readonly data: string;
}

export function eventsOf(bytes: Buffer): { events: ReferenceEvent[]; unended: ReferenceEvent; atBoundary: boolean } {
  // TextDecoder drops a byte order mark at the start, and nowhere else.
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
  const unfinished = lines.pop();
  const events: ReferenceEvent[] = [];
  let name = '';
  let data: string[] = [];
  let hasBegun = false;
  const take = (line: string): void => {
    if (line.startsWith(':')) return;
    hasBegun = true;
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') name = value;
    if (field === 'data') data.push(value);
  };
  for (const line of lines) {
    if (line === '') {
      if (data.length > 0) events.push({ name, data: data.join('\n') });
      name = '';
      data = [];
      hasBegun = false;
      continue;
    }
    take(line);
  }
  const atBoundary = !hasBegun && unfinished === '';
  take(unfinished ?? '');
  return { events, unended: { name, data: data.join('\n') }, atBoundary };
}

function takeUsage(reading: ReferenceReading, usage: unknown, path: string): void {
  if (usage === null || usage === undefined) return;
  if (!isPlain(usage)) {
    noteOnce(reading, path);
    return;
  }
  for (const [place, name] of FIELDS) {
    const [outer = '', inner] = place.split('.');
    const split = usage[outer];
    const value = inner === undefined ? split : isPlain(split) ? split[inner] : undefined;
    if (value === null || value === undefined) continue;
    if (name === null ? isPlain(value) : name === 'serviceTier' ? typeof value === 'string' : isCount(value)) {
      if (name !== null) reading.fields[name] = value as number | string;
    } else noteOnce(reading, `${path}.${place}`);
  }
}

function noteOnce({ malformed }: ReferenceReading, path: string): void {
  if (!malformed.includes(path) && malformed.length < MALFORMED_MAX) malformed.push(path);
}

function errorOf(value: unknown, data: string): ReferenceReading['error'] {
  const error: Plain = isPlain(value) && isPlain(value.error) ? value.error : {};
  const message = typeof error.message === 'string' ? error.message : data;
  return { type: typeof error.type === 'string' ? error.type : '', message: message.slice(0, ERROR_MESSAGE_MAX) };
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isCount = (value: unknown): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
