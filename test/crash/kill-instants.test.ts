import { mkdtempSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { killAtOnce, killStarted, stopInOrder } from '../fixtures/processes/child-process.ts';
import { head, type Step, silence, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import { startUpstream } from '../upstream/upstream.ts';
import { debitsIn, usagesIn } from './audit/stored-lines.ts';
import { removeFolder } from './audit-run.ts';
import { layOutSite } from './crash-site.ts';
import type { ClientKey } from './post-planned.ts';

const ACCOUNT = 'acct_ada';
const tokens = { input: 1_000, output: 200, cacheRead: 30, cacheWrite5m: 20, cacheWrite1h: 10 };
const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

/** A request that is at one stage when the gateway is killed. Its model tells it from the others. */
interface Stage {
  readonly model: string;
  /** Whether it asks for one. */
  readonly stream?: boolean;
  /** What the upstream has said by then; it never ends an answer by itself. */
  readonly answer: readonly Step[];
  /** What its client has read by then. */
  readonly until: string | null;
  readonly recorded: object;
}

const events = streamEvents({ tokens });
const whole = JSON.stringify(message({ tokens }));
const notSeen = { outcome: 'recovered', tokens: NO_TOKENS, billable: false };
const charged = { outcome: 'completed', tokens, billable: true, source: 'reported' };

const stages: readonly Stage[] = [
  { model: 'opal-000', answer: [silence], until: null, recorded: notSeen },
  {
    model: 'opal-002',
    answer: [head(), ...events.slice(0, 4).map(write), silence],
    until: 'text_delta',
    recorded: notSeen,
  },
  {
    model: 'opal-004',
    answer: [head(), ...events.slice(0, -1).map(write), silence],
    until: 'message_delta',
    recorded: notSeen,
  },
  { model: 'opal-006', answer: [head(), ...events.map(write), silence], until: 'message_stop', recorded: charged },
  {
    model: 'opal-008',
    stream: false,
    answer: [head(200, { 'content-type': 'application/json', 'content-length': whole.length }), write(whole), silence],
    until: '"usage"',
    recorded: charged,
  },
];

let close = async (): Promise<void> => undefined;
afterEach(async () => {
  killStarted();
  await close();
});

it('one kill finds requests at every stage: what a client has in whole is charged, all else is recorded and is not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-kill-'));
  const upstream = await startUpstream({
    script: ({ body }) => stages.find(({ model }) => body.includes(`"${model}"`))?.answer ?? [silence],
  });
  const site = await layOutSite({ folder, accountIds: [ACCOUNT], upstreamUrl: upstream.url });
  close = async () => {
    await site.close();
    await upstream.close();
    removeFolder(folder);
  };
  const key = await site.issueKey(ACCOUNT);
  const first = site.startGateway();
  const { url } = await first.firstLine;

  const reached = stages.map((stage) => reach(url, key, stage));
  for (const index of stages.keys()) await upstream.seen(index);
  await Promise.all(reached);
  // The upstream has ended none of its answers, and will not: what is charged now was in the journal before.
  await killAtOnce(first);

  // Killed once more as soon as it is up: what it has recovered it must not recover twice.
  const second = site.startGateway();
  await second.firstLine;
  await killAtOnce(second);
  const third = site.startGateway();
  await third.firstLine;
  await stopInOrder(third);

  const stored = await site.accountEvents(ACCOUNT);
  const byModel = Map.groupBy(usagesIn(stored), ({ model }) => model);
  for (const { model, recorded } of stages) expect(byModel.get(model)).toMatchObject([recorded]);
  expect(byModel.size).toBe(stages.length);
  expect(debitsIn(stored)).toHaveLength(2);
});

/** Sends the stage's request; resolves when its client has read as far as the stage says. */
function reach(url: string, { key }: ClientKey, { model, stream = true, until }: Stage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let text = '';
  const request = httpRequest(`${url}/v1/messages`, {
    method: 'POST',
    agent: false,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
  });
  request.on('response', (response) => {
    response.setEncoding('utf8');
    response.on('error', () => undefined);
    response.on('data', (piece: string) => {
      text += piece;
      if (until !== null && text.includes(until)) resolve();
    });
  });
  // The kill cuts every one of these connections.
  request.on('error', () => undefined);
  request.end(JSON.stringify({ model, max_tokens: 500, stream, messages: [{ role: 'user', content: 'hello' }] }));
  if (until === null) resolve();
  return promise;
}
