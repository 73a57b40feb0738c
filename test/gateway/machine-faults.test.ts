import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { JOURNAL_BOUNDS } from '../../ledger/journal/limits.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { replaceWithFullDevice } from '../fixtures/ledger/full-device.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';

/** However slow the machine is. */
const WAIT = { timeout: 60_000, interval: 50 };

it.runIf(canMount)(
  'a gateway whose disk is full refuses, says so, goes on by itself when there is room, and has billed what it answered exactly once',
  async () => {
    const disk = smallDisk(32 * 1_024);
    const data = join(dirname(disk.folder), 'data');
    mkdirSync(data);
    const logLines: string[] = [];
    const gateway = endedLater(await startTestGateway({ data, logLines, reserveBytes: JOURNAL_BOUNDS.reserveBytes }));
    const ask = () => post(gateway, '/v1/messages', asking('svc-mock'));
    let answered = 0;
    for (; answered < 3; answered++) expect((await ask()).status).toBe(200);
    disk.leaveFree(0);
    let refused = await ask();
    for (; refused.status === 200; refused = await ask()) answered++;
    expect(refusalOf(refused, 529)).toBe('the disk has no room for the journal of usage');
    expect(refused.headers).toMatchObject({ 'x-should-retry': 'true', 'retry-after': '5' });
    expect(await get(gateway, '/readyz')).toMatchObject({
      status: 503,
      body: { ok: false, reason: 'the disk has no room for the journal of usage' },
    });
    expect(await get(gateway, '/healthz')).toMatchObject({
      status: 200,
      body: {
        ok: true,
        degraded: expect.stringMatching(/the disk has had no room for the journal of usage for \d+ s/),
      },
    });
    disk.clear();
    await expect.poll(async () => (await get(gateway, '/readyz')).body, WAIT).toEqual({ ok: true });
    expect(await get(gateway, '/healthz')).toMatchObject({ status: 200, body: { ok: true } });
    expect((await ask()).status).toBe(200);
    answered++;
    const usages = (await gateway.events()).filter(({ type }) => type === 'UsageRecorded');
    expect(usages).toHaveLength(answered);
    expect(logLines.filter((line) => /"level":60/.test(line))).toEqual([]);
  },
  120_000,
);

it.runIf(process.platform === 'linux')(
  'a gateway whose journal cannot be written any more is not healthy, admits nothing and is told to end, for only a new process can read what is there',
  async () => {
    const logLines: string[] = [];
    const unusable: string[] = [];
    const gateway = await startTestGateway({ logLines, onUnusable: ({ message }) => unusable.push(message) });
    expect((await post(gateway, '/v1/messages', asking('svc-mock'))).status).toBe(200);
    await gateway.events();
    replaceWithFullDevice(journalFolder(gateway.data));
    const refused = await post(gateway, '/v1/messages', asking('svc-mock'));
    expect(refusalOf(refused, 529)).toMatch(/^the journal of usage cannot be written/);
    await expect
      .poll(() => unusable, WAIT)
      .toEqual([expect.stringMatching(/^the journal of usage cannot be written: /)]);
    expect(await get(gateway, '/healthz')).toMatchObject({
      status: 503,
      body: { ok: false, reason: 'the journal of usage cannot be written; the log of this gateway says why' },
    });
    expect((await get(gateway, '/readyz')).status).toBe(503);
    expect(logLines.some((line) => /"level":60.*the journal of usage cannot be written/.test(line))).toBe(true);
    await expect(gateway.stop()).rejects.toThrow(/the journal|journal/);
    await gateway.log.close();
  },
);

it('a gateway that can use its event log no more is not healthy, admits nothing and is told to end', async () => {
  const unusable: string[] = [];
  const gateway = endedLater(await startTestGateway({ onUnusable: ({ message }) => unusable.push(message) }));
  gateway.gateway.logLost(new Error('the thread that writes ledger.db has ended'));
  expect(unusable).toEqual(['the event log cannot be used any more: the thread that writes ledger.db has ended']);
  expect(await get(gateway, '/healthz')).toMatchObject({
    status: 503,
    body: { ok: false, reason: 'the event log cannot be used any more; the log of this gateway says why' },
  });
  refusalOf(await post(gateway, '/v1/messages', asking('svc-mock')), 529);
});
