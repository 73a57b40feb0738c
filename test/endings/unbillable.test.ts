import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { postMessage, recorded, startPost } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { replaceWithFullDevice } from '../fixtures/ledger/full-device.ts';
import { end, head, wait, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

/** What a client gets as complete is billed: where its end cannot be taken down, it does not get it as complete. */
const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

let upstream: Upstream;
let gateway: TestGateway;
let unusable: string[];
beforeEach(async () => {
  upstream = await startUpstream();
  unusable = [];
  gateway = await startTestGateway({
    upstreamUrl: upstream.url,
    onUnusable: ({ message: why }) => unusable.push(why),
  });
});
afterEach(async () => {
  await gateway.stop();
  await upstream.close();
});

/** The gateway ends, and another starts on its folder with a disk that is whole. */
async function startAgain(): Promise<void> {
  await expect.poll(() => unusable).toEqual([expect.stringMatching(/^the journal of usage/)]);
  await expect(gateway.stop()).rejects.toThrow(/journal/);
  await gateway.log.close();
  gateway = await startTestGateway({ upstreamUrl: upstream.url, data: gateway.data });
}

async function isRecordedAndFree(): Promise<void> {
  await expect.poll(async () => (await recorded(gateway)).usages).toHaveLength(1);
  const { usages, debits } = await recorded(gateway);
  expect(usages).toMatchObject([{ outcome: 'recovered', billable: false }]);
  expect(debits).toEqual([]);
}

describe.runIf(process.platform === 'linux')('an answer whose end the journal refuses', () => {
  it('is cut before its last bytes where it is a stream, and is recorded and not charged by the next start', async () => {
    const gate = Promise.withResolvers<void>();
    const events = streamEvents({ tokens });
    upstream.answerWith([
      head(),
      ...events.slice(0, 3).map(write),
      wait(gate.promise),
      ...events.slice(3).map(write),
      end,
    ]);
    const answer = await postMessage(gateway, { stream: true });
    await answer.next();
    replaceWithFullDevice(journalFolder(gateway.data));
    gate.resolve();
    const { body, isCut } = await answer.restOrCut();
    expect(isCut).toBe(true);
    expect(body.toString()).toMatch(/\n\nevent: error\ndata: .*could not take down the end of the answer.*\n\n$/);
    expect(body.toString()).not.toContain('message_stop');
    await startAgain();
    await isRecordedAndFree();
  });

  it('is a 502 where it is no stream, and is recorded and not charged by the next start', async () => {
    const gate = Promise.withResolvers<void>();
    const whole = JSON.stringify(message({ tokens }));
    const headers = { 'content-type': 'application/json', 'content-length': whole.length };
    upstream.answerWith([wait(gate.promise), head(200, headers), write(whole), end]);
    const { answered } = startPost(gateway);
    await upstream.seen(0);
    replaceWithFullDevice(journalFolder(gateway.data));
    gate.resolve();
    const answer = await answered;
    expect(answer.status).toBe(502);
    expect((await answer.rest()).toString()).toContain('could not take down the end of the answer');
    await startAgain();
    await isRecordedAndFree();
  });
});
