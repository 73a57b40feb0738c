import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream, type Upstream } from '../upstream/upstream.ts';

const SETTINGS = { proxies: 'many', metrics: { serve: { port: 0 } } };
/** Beyond its hold, and of a tier that has no price. */
const ODD = message({ tokens: { input: 1, output: 1e15 }, serviceTier: 'batch' });

let upstream: Upstream;
let log: MemoryEventLog;
beforeEach(async () => {
  upstream = endedLater(await startUpstream());
  log = new MemoryEventLog();
});

async function start(data: string, logLines: string[]): Promise<TestGateway> {
  return endedLater(await startTestGateway({ upstreamUrl: upstream.url, settings: SETTINGS, data, log, logLines }));
}

const told = (lines: readonly string[]): unknown[] =>
  lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'usage that an operator has to decide on');

/** How many exceptions a gateway's views have open. */
const openIn = ({ gateway, accountId }: TestGateway): number => {
  const { state } = gateway.process.projections.accounts.read(accountId);
  return state.type === 'open' ? state.exceptions.openCount : 0;
};

describe('an exception is told', () => {
  it('once for a request, with all its reasons, by the proxy that settles it and no other', async () => {
    const lines: string[] = [];
    const linesOfOther: string[] = [];
    const gateway = await start(temporaryFolder(), lines);
    const other = await start(temporaryFolder(), linesOfOther);
    upstream.answerWith(json(ODD));
    expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    await gateway.gateway.process.settlement.idle();
    await expect.poll(() => openIn(other)).toBe(1);
    const why = ['beyond its hold', 'no price for service_tier: batch'];
    expect(told(lines)).toMatchObject([{ level: 50, accountId: 'acct_test', why }]);
    expect(told(linesOfOther)).toEqual([]);
  });

  it('no more when the views are rebuilt from the ledger', async () => {
    const data = temporaryFolder();
    const first = await start(data, []);
    upstream.answerWith(json(ODD));
    expect((await post(first, '/v1/messages', asking('opal-medium'))).status).toBe(200);
    await first.gateway.process.settlement.idle();
    await first.stop();
    rmSync(join(data, 'views.db'));
    const lines: string[] = [];
    const second = await start(data, lines);
    expect(openIn(second)).toBe(1);
    expect(told(lines)).toEqual([]);
  });
});
