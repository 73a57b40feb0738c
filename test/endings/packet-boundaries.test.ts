import { afterAll, describe, expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, end, hangUp, head, reset, type Step, silence, write } from '../upstream/answer.ts';
import { text, thinking, toolUse } from '../upstream/content.ts';
import { message } from '../upstream/message.ts';
import { byteByByte, cutAt, cutAtRandom, oneChunk } from '../upstream/rechunk.ts';
import { errorEvent, event, streamEvents } from '../upstream/stream-events.ts';

/**
 * The same content in other packets reaches the client and is recorded as the same usage, whichever way the request ends: what
 * an upstream says last about usage is final once `stop_reason` is known.
 */
const { upstream, gateway: draining } = await startOnUpstream(afterAll);
const provider = { onClientDisconnect: 'cancel' };
const cancelling = endedLater(await startTestGateway({ upstreamUrl: upstream.url, provider }), afterAll);

const tokens = { input: 1_000, output: 40, cacheRead: 7, cacheWrite5m: 3, cacheWrite1h: 2 };
const blocks = [
  thinking('Überlegt: ', '漢字 👩‍💻 '),
  text('says "message_stop" and\n\nevent: error', ' \\ "delta":{"text":"', 'twice'),
  toolUse('weather', '{"city":', '"Zürich"}'),
];
const events = streamEvents({ tokens, blocks });
const crlf = streamEvents({ tokens, blocks }, { lineEnd: '\r\n' });
const usage = (said: unknown, reason: string | null = 'end_turn'): Buffer =>
  event('message_delta', { type: 'message_delta', delta: { stop_reason: reason }, usage: said });
const [body, stop] = [events.slice(0, -2), events.slice(-1)];
const unended = (chunks: readonly Buffer[]): Buffer[] => [
  Buffer.from(Buffer.concat(chunks).toString('utf8').trimEnd()),
];
const cr = (chunks: readonly Buffer[]): Buffer => Buffer.from(String(Buffer.concat(chunks)).replaceAll('\n', '\r'));
const json = (value: unknown): Buffer[] => [Buffer.from(JSON.stringify(value))];
const answer = message({ tokens, blocks });
/** The same said in ways that no known upstream writes. */
const otherwise = body.map((chunk) =>
  Buffer.from(
    chunk.toString('utf8').replaceAll('"delta":', '\ndata:  "delta" :  ').replaceAll('"text":"', '"x":0,"text":"'),
  ),
);
const blockWithText = event('content_block_start', {
  type: 'content_block_start',
  index: 9,
  content_block: { type: 'text', text: 'The block begins with all of its text, 漢字 too.' },
});

interface Ending {
  readonly how: string;
  readonly content: readonly Buffer[];
  readonly last?: Step;
  readonly isJson?: boolean;
  /** The client leaves once it has read everything. */
  readonly leaves?: boolean;
  /** It ends as it came where nothing is said. */
  readonly endsIn?: 'an error event of ours, cut' | 'a refusal';
  readonly recordedAs: object;
}

const CUT = { endsIn: 'an error event of ours, cut' } as const;

const reported = { outcome: 'completed', source: 'reported', billable: true, tokens };
const guessed = { outcome: 'completed', source: 'estimated', billable: true };
const interrupted = { outcome: 'upstream_interrupted', source: 'reported', billable: false };
const begun = { ...interrupted, tokens: { ...tokens, output: 1 } };
const corrected = { ...reported, tokens: { ...tokens, output: 60 } };
const left = { outcome: 'client_disconnected', source: 'estimated', billable: true };

const ENDINGS: readonly Ending[] = [
  { how: 'complete', content: events, recordedAs: reported },
  { how: 'complete, with CRLF', content: crlf, recordedAs: reported },
  { how: 'without message_stop', content: events.slice(0, -1), recordedAs: reported },
  { how: 'without the last blank line', content: unended(events.slice(0, -1)), recordedAs: reported },
  { how: 'without the last blank line, with CRLF', content: unended(crlf), recordedAs: reported },
  { how: 'without the last blank line, with CR', content: [cr(unended(events.slice(0, -1)))], recordedAs: reported },
  { how: 'without the blank line of message_stop', content: unended(events), recordedAs: reported },
  { how: 'with usage after message_stop', content: [...events, usage({ output_tokens: 9_999 })], recordedAs: reported },
  {
    how: 'with usage said twice',
    content: [...body, usage({ output_tokens: 9 }, null), ...events.slice(-2)],
    recordedAs: reported,
  },
  {
    how: 'with usage corrected after stop_reason',
    content: [...events.slice(0, -1), usage({ output_tokens: 60 }), ...stop],
    recordedAs: corrected,
  },
  {
    how: 'with usage corrected after stop_reason, without message_stop',
    content: [...events.slice(0, -1), usage({ output_tokens: 60 })],
    recordedAs: corrected,
  },
  { how: 'with an error after message_stop', content: [...events, errorEvent()], recordedAs: reported },
  { how: 'reset after stop_reason', content: events.slice(0, -1), last: reset, recordedAs: reported },
  { how: 'hung up after stop_reason', content: events.slice(0, -1), last: hangUp, recordedAs: reported },
  { how: 'reset after message_stop', content: events, last: reset, recordedAs: reported },
  { how: 'without usage at the end', content: [...body, usage(null), ...stop], recordedAs: guessed },
  {
    how: 'with usage that cannot be read',
    content: [...body, usage({ output_tokens: '40' }), ...stop],
    recordedAs: guessed,
  },
  { how: 'without message_delta', content: [...body, ...stop], recordedAs: guessed },
  {
    how: 'with an error in the middle',
    content: [...events.slice(0, 6), errorEvent(), ...events.slice(6)],
    recordedAs: interrupted,
  },
  { how: 'with an error after stop_reason', content: [...events.slice(0, -1), errorEvent()], recordedAs: interrupted },
  {
    how: 'with an error that has no blank line, which no client reads',
    content: unended([...events.slice(0, -1), errorEvent()]),
    ...CUT,
    recordedAs: interrupted,
  },
  { how: 'ended without stop_reason', content: body, ...CUT, recordedAs: begun },
  {
    how: 'ended in the last event',
    content: [...body, usage({ output_tokens: 40 }).subarray(0, 70)],
    ...CUT,
    recordedAs: begun,
  },
  {
    how: 'reset in an event',
    content: [...body.slice(0, 6), Buffer.from('event: content_blo')],
    last: reset,
    ...CUT,
    recordedAs: interrupted,
  },
  {
    how: 'left upon its error',
    content: [...events.slice(0, 6), errorEvent()],
    last: silence,
    leaves: true,
    recordedAs: interrupted,
  },
  { how: 'left in the middle', content: body, last: silence, leaves: true, recordedAs: left },
  {
    how: 'left in an event',
    content: [...body, usage({}).subarray(0, 50)],
    last: silence,
    leaves: true,
    recordedAs: left,
  },
  {
    how: 'left after stop_reason',
    content: events.slice(0, -1),
    last: silence,
    leaves: true,
    recordedAs: { ...reported, outcome: 'client_disconnected' },
  },
  {
    how: 'without usage at the end, spelled otherwise',
    content: [...otherwise, blockWithText, usage(null), ...stop],
    recordedAs: guessed,
  },
  {
    how: 'left in an event that is spelled otherwise',
    content: [...otherwise, blockWithText.subarray(0, -20)],
    last: silence,
    leaves: true,
    recordedAs: left,
  },
  { how: 'JSON', content: json(answer), isJson: true, recordedAs: reported },
  { how: 'JSON without usage', content: json({ ...answer, usage: null }), isJson: true, recordedAs: guessed },
  {
    how: 'JSON that is no Message',
    content: json([answer]),
    isJson: true,
    endsIn: 'a refusal',
    recordedAs: { ...interrupted, source: 'estimated' },
  },
  {
    how: 'JSON left in the middle',
    content: [Buffer.concat(json(answer)).subarray(0, -90)],
    isJson: true,
    last: silence,
    leaves: true,
    recordedAs: left,
  },
];

const RANDOM_CUTS = 6;

/** In one piece, in single bytes, at random, and in two pieces cut at places all over it, the last bytes above all. */
function cutsOf(content: readonly Buffer[]): Buffer[][] {
  const { length } = Buffer.concat(content);
  const places = [1, 2, 3, 5, 9, 40, 60].map((fromEnd) => length - fromEnd);
  for (let part = 1; part < 8; part++) places.push(Math.floor((length * part) / 8));
  return [
    oneChunk(content),
    byteByByte(content),
    ...Array.from({ length: RANDOM_CUTS }, (_, seed) => cutAtRandom(content, seed + 1, 2 + seed ** 3)),
    ...places.map((place) => cutAt(content, [place])),
  ];
}

/** Posts, takes the answer to its end or leaves when all of it is there. */
async function post(
  gateway: TestGateway,
  chunks: readonly Buffer[],
  { last = end, isJson, leaves, endsIn }: Ending,
): Promise<void> {
  const headers = isJson === true ? { 'content-type': 'application/json' } : undefined;
  const steps: Answer = [headers === undefined ? head() : head(200, headers), ...chunks.map(write), last];
  upstream.answerWith(steps);
  const index = upstream.requests.length;
  const { answered, leave } = startPost(gateway, { stream: isJson !== true });
  if (leaves === true && isJson === true) {
    // Nothing of it is to be seen: the gateway has read it when it has answered others meanwhile.
    answered.catch(() => undefined);
    const seen = await upstream.seen(index);
    await expect.poll(() => seen.writes.length, { interval: 5 }).toBe(chunks.length);
    for (let round = 0; round < 5; round++) await fetch(`${gateway.url}/healthz`);
    leave();
    return;
  }
  const got = await answered;
  if (leaves !== true) {
    const { body: received, isCut } = await got.restOrCut();
    if (endsIn !== 'a refusal') expectReceived({ received, isCut }, Buffer.concat(chunks), endsIn !== undefined);
    return;
  }
  const bytes = Buffer.concat(chunks).length;
  for (let read = 0; read < bytes; ) read += (await got.next())?.length ?? bytes;
  got.leave();
}

/** Byte for byte what was sent, and behind it nothing but where the gateway has cut it, with the end of a line that was torn. */
function expectReceived(got: { readonly received: Buffer; readonly isCut: boolean }, sent: Buffer, cut: boolean): void {
  expect([got.isCut, got.received.subarray(0, sent.length).equals(sent)]).toEqual([cut, true]);
  const behind = String(got.received.subarray(sent.length));
  const end = sent.at(-1) === 0x0a ? '' : '\n';
  expect(behind).toMatch(cut ? new RegExp(`^${end}event: error\ndata: .*"api_error".*\n\n$`) : /^$/);
}

describe('the same content in other packets is the same usage', () => {
  it.each(ENDINGS)('$how', { timeout: 300_000 }, async (ending) => {
    const gateway = ending.leaves === true ? cancelling : draining;
    const before = (await recorded(gateway)).usages.length;
    const cuts = cutsOf(ending.content);
    for (const [index, chunks] of cuts.entries()) {
      await post(gateway, chunks, ending);
      // Who leaves has no sign of the end: the next answer is scripted only when this one is over.
      await (await upstream.seen(upstream.requests.length - 1)).over;
      if (index % 8 === 0) await gateway.gateway.process.settlement.idle();
    }
    const usagesSince = async () => (await recorded(gateway)).usages.slice(before);
    await expect.poll(async () => (await usagesSince()).length, { timeout: 120_000 }).toBe(cuts.length);
    const [first, ...others] = (await usagesSince()).map(
      ({ requestId: _id, startedAt: _from, finishedAt: _to, ...same }) => same,
    );
    expect(first).toMatchObject(ending.recordedAs);
    for (const other of others) expect(other).toEqual(first);
  });
});
