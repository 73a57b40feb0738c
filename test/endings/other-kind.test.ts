import { describe, expect, it } from 'vitest';
import { JSON_TYPE } from '../../contracts/media-types.ts';
import { type PostedMessage, postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { type Answer, end, failure, head, json, silence, stream, wait, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { events, gateway, leavingIsSeen, nothingIsHeld, start, tokens, upstream, usagesReach } from './ending-scene.ts';

/** An answer of the other kind than was asked for: no SDK reads it, so that it is one that cannot be read. */
const whole = message({ tokens });
const typed = (type: string): Answer => json(whole, { headers: { 'content-type': type } });
const OTHER_KIND: readonly (readonly [string, boolean, Answer])[] = [
  ['a Message', true, json(whole)],
  ['a Message, its type with a parameter', true, typed('application/json; charset=utf-8')],
  ['a Message as a page of text', true, typed('text/plain')],
  ['a page of HTML', true, json('<html></html>', { headers: { 'content-type': 'text/html' } })],
  ['a stream', false, stream(events)],
  [
    'a stream, its type in other case and with a parameter',
    false,
    stream(events, { 'content-type': ' Text/Event-Stream;x=1' }),
  ],
];

async function isUnreadable({ status, headers, rest }: PostedMessage): Promise<void> {
  expect([status, headers['content-type'], headers['x-should-retry']]).toEqual([
    502,
    'application/json; charset=utf-8',
    'true',
  ]);
  expect(JSON.parse(String(await rest()))).toMatchObject({
    error: { type: 'api_error', message: 'the model gave an answer that cannot be read; try again' },
  });
}

describe('an answer of the other kind than was asked for', () => {
  it.each(OTHER_KIND)('is a 502 that is recorded, logged and costs nothing: %s', async (_what, isStream, answer) => {
    const logLines: string[] = [];
    await start({ logLines, settings: { chargeInterrupted: 'reported' } });
    upstream.answerWith(answer);
    await isUnreadable(await postMessage(gateway, { stream: isStream }));
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
    expect(debits).toEqual([]);
    await nothingIsHeld();
    const told = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('an upstream'));
    expect(told).toMatchObject([
      { msg: 'an upstream answered what cannot be read', contentType: expect.stringMatching(/./), provider: 'test' },
    ]);
  });

  it.each([
    ...[
      'text/plain',
      'text/html; charset=utf-8',
      'application/octet-stream',
      'application/jsonl',
      'Application/JSON',
    ].map((type) => [type, JSON_TYPE]),
    ['application/json, application/json', JSON_TYPE],
    ['application/json;charset=UTF-8', 'application/json;charset=UTF-8'],
    ['application/json', 'application/json'],
  ])('a Message as %s is told as JSON, by which SDKs read it', async (type, told) => {
    await start();
    upstream.answerWith(typed(type));
    const answer = await postMessage(gateway);
    expect([answer.status, answer.headers['content-type'], JSON.parse(String(await answer.rest()))]).toEqual([
      200,
      told,
      whole,
    ]);
  });

  it('a stream whose type was sent twice, or in capitals, is passed on as it is called, by which SDKs read it, and is billed', async () => {
    await start();
    for (const type of ['text/event-stream, text/event-stream', 'Text/Event-Stream']) {
      upstream.answerWith(stream(events, { 'content-type': type }));
      const answer = await postMessage(gateway, { stream: true });
      expect([answer.status, answer.headers['content-type']]).toEqual([200, type]);
      await answer.rest();
    }
    const { usages } = await usagesReach(2);
    expect(usages).toMatchObject([{ outcome: 'completed' }, { outcome: 'completed' }]);
  });

  it.each([true, false])('is left by the gateway at its head, where stream is %s', async (isStream) => {
    await start();
    upstream.answerWith([isStream ? head(200, { 'content-type': 'application/json' }) : head(), silence]);
    await isUnreadable(await postMessage(gateway, { stream: isStream }));
    await (await upstream.seen(0)).over;
  });

  it.each([true, false])('at its first place is answered by the next, where stream is %s', async (isStream) => {
    await start();
    const [asked, other] = isStream ? [stream(events), json(whole)] : [json(whole), stream(events)];
    upstream.answerWith(({ body }) => (body.includes('first-place') ? other : asked));
    const answer = await postMessage(gateway, { model: 'opal-twice', stream: isStream });
    expect([answer.status, (await answer.rest()).length > 0]).toEqual([200, true]);
    const { usages } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'completed', tokens, upstream: { model: 'second-place' } }]);
  });

  it('costs nothing either where its client has left before its head', async () => {
    await start();
    const gate = Promise.withResolvers<void>();
    upstream.answerWith([wait(gate.promise), ...json(whole)]);
    const post = startPost(gateway, { stream: true });
    post.answered.catch(() => undefined);
    await upstream.seen(0);
    post.leave();
    await leavingIsSeen();
    gate.resolve();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'upstream_refused', billable: false }]);
    expect(debits).toEqual([]);
  });
});

it('an error in JSON to a request for a stream is passed on as it is', async () => {
  await start();
  upstream.answerWith(failure(400));
  const answer = await postMessage(gateway, { stream: true });
  expect(answer.status).toBe(400);
  expect(String(await answer.rest())).toContain('the upstream says 400');
});

it('an answer whose type is no more than blank is what was asked for', async () => {
  await start();
  upstream.answerWith([head(200, { 'content-type': ' ' }), ...events.map(write), end]);
  await (await postMessage(gateway, { stream: true })).rest();
  await expect.poll(async () => (await recorded(gateway)).usages).toMatchObject([{ outcome: 'completed', tokens }]);
});
