import fc from 'fast-check';

/** Streams of every kind that an upstream could send, well-formed or odd, and ways to cut them. */

const MARKS = ['event: message_stop', 'data: {"type":"message_delta"}', '"error"', 'event: error', '\n\n', '\r\n\r\n'];

/** Text of a model, with words in it that look like the protocol's own, and characters of several bytes. */
const text = fc
  .array(
    fc.oneof(fc.constantFrom(...MARKS, 'message_start', 'é', '漢字', '\u{1f600}', '\\', '"', ' error'), fc.string()),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.join(''));

const oddCount = fc.constantFrom(-1, 0.5, '7', true, 2 ** 53, [], {});
const count = fc.oneof(
  { weight: 6, arbitrary: fc.nat(100_000) },
  { weight: 2, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: oddCount },
);
const split = fc.record({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count }, { requiredKeys: [] });
const usage = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      {
        input_tokens: count,
        output_tokens: count,
        cache_read_input_tokens: count,
        cache_creation_input_tokens: count,
        cache_creation: fc.oneof({ weight: 5, arbitrary: split }, fc.constantFrom(null, 3)),
        service_tier: fc.constantFrom('standard', 'priority', null, 4),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(null, 'none', []) },
);
const message = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ id: text, model: fc.constantFrom('m-1', 'm-2', 3), usage }, { requiredKeys: [] }),
  },
  { weight: 1, arbitrary: fc.constantFrom(null, 'message_start') },
);
const error = fc.oneof(fc.record({ type: fc.constant('overloaded_error'), message: text }), fc.constantFrom(null, 'x'));

const stopReason = fc.constantFrom({}, { stop_reason: null }, { stop_reason: 'end_turn' }, { stop_reason: 3 }, null);

/** What an event says: its right name, and its data. */
const payload = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(usage, stopReason).map(([said, delta]) => ({ type: 'message_delta', delta, usage: said })),
  },
  { weight: 2, arbitrary: message.map((said) => ({ type: 'message_start', message: said })) },
  { weight: 1, arbitrary: fc.constant({ type: 'message_stop' }) },
  { weight: 1, arbitrary: error.map((said) => ({ type: 'error', error: said })) },
  { weight: 1, arbitrary: fc.constant({ type: 'ping' }) },
  {
    weight: 5,
    arbitrary: text.map((said) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: said },
    })),
  },
  { weight: 1, arbitrary: text.map((said) => ({ type: 'message_extra', error: said, message_delta: 'error' })) },
);

interface Said {
  readonly type: string;
  /** Each stands behind a `data` field of its own. */
  readonly lines: readonly string[];
}

const json = fc
  .tuple(payload, fc.constantFrom(0, 0, 0, 2))
  .map(([value, indent]): Said => ({ type: value.type, lines: JSON.stringify(value, null, indent).split('\n') }));
/** Data that is no JSON object, under whatever name. */
const notJson = fc
  .tuple(fc.constantFrom('message_delta', 'message_stop', 'error', 'done'), fc.constantFrom('[DONE]', '', 'error', '3'))
  .map(([type, line]): Said => ({ type, lines: [line] }));

const comment = fc.constantFrom(
  '\ufeffevent: message_stop',
  ':',
  ': keep-alive',
  'id: message_stop',
  'retry: 3',
  'event',
  'unknown: error',
  'data',
);

/** The lines of one event, without the blank one that ends it. */
const eventLines = fc
  .record({
    said: fc.oneof({ weight: 9, arbitrary: json }, { weight: 1, arbitrary: notJson }),
    naming: fc.constantFrom('right', 'right', 'right', 'right', 'none', 'other', 'spaced', 'tight', 'last', 'twice'),
    hasData: fc.integer({ min: 0, max: 19 }).map((roll) => roll > 0),
    extra: fc.option(fc.tuple(fc.nat(4), comment), { freq: 4 }),
  })
  .map(({ said, naming, hasData, extra }) => {
    const data = hasData ? said.lines.map((line) => (naming === 'tight' ? `data:${line}` : `data: ${line}`)) : [];
    const lines = named(said.type, data)[naming];
    if (extra !== null) lines.splice(Math.min(extra[0], lines.length), 0, extra[1]);
    return lines;
  });

type Naming = 'right' | 'none' | 'other' | 'spaced' | 'tight' | 'last' | 'twice';

const named = (type: string, data: readonly string[]): Record<Naming, string[]> => ({
  right: [`event: ${type}`, ...data],
  none: [...data],
  other: ['event: something', ...data],
  spaced: [`event: ${type} `, ...data],
  tight: [`event:${type}`, ...data],
  last: [...data, `event: ${type}`],
  twice: ['event: message_stop', ...data, `event: ${type}`],
});

const LINE_ENDS = {
  lf: ['\n'],
  crlf: ['\r\n'],
  cr: ['\r'],
  mixed: ['\n', '\r\n', '\r'],
  late: ['\n', '\n', '\n', '\r\n'],
};

/** The bytes of a stream: events, blank lines between them, a byte order mark now and then, all kinds of line end. */
export const streamBytes = fc
  .record({
    events: fc.array(fc.tuple(eventLines, fc.constantFrom(1, 1, 1, 1, 2, 3)), { minLength: 1, maxLength: 12 }),
    ends: fc.constantFrom(...Object.values(LINE_ENDS)),
    seed: fc.array(fc.nat(11), { minLength: 7, maxLength: 7 }),
    cut: fc.constantFrom(0, 0, 0, 1, 2, 3, 9),
    start: fc.constantFrom('', '', '', '\ufeff', '\n', '\n\ufeff', '\ufeff\ufeff', ':\n\n'),
  })
  .map(({ events, ends, seed, cut, start }) => {
    const lines = events.flatMap(([event, blanks]) => [...event, ...Array.from({ length: blanks }, () => '')]);
    const ended = lines.map(
      (line, index) => line + (ends[((seed[index % seed.length] ?? 0) + index) % ends.length] ?? ''),
    );
    const bytes = Buffer.from(start + ended.join(''));
    return bytes.subarray(0, Math.max(1, bytes.length - cut));
  });

/** Sizes of the chunks that a stream is cut into, used again and again from the first. */
export const chunkSizes = fc.oneof(
  fc.constantFrom([1], [2], [3], [Number.MAX_SAFE_INTEGER]),
  fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 8 }),
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 8 }).map((sizes) => [...sizes, 1]),
);

export function chunksOf(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1;
    // A copy, as from a socket: a meter that held on to its neighbours' bytes would be found out.
    chunks.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return chunks;
}
