import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { StartedProcess } from '../../fixtures/processes/child-process.ts';
import { auditRun } from '../audit-run.ts';
import { lookFor, onStage, type SceneAudit, type SceneOptions, type Stage } from './scene.ts';

const PRELOAD = fileURLToPath(new URL('../../fixtures/processes/moved-clock-preload.ts', import.meta.url));
const REQUESTS = 40;
const DAY_MS = 86_400_000;
/** Past the end of every trial. */
const AHEAD_MS = 40 * DAY_MS;
const MOVED_MS = 3_000;
/** Until the gateway has seen that its clock has jumped. */
const NOTICED_MS = 1_500;
/** It waits until readings have been steady for as long as the site says, and goes on. */
const STEADY_MS_MAX = 240_000;
/** What a stored instant may be ahead of the machine's clock by. */
const SLACK_MS = 60_000;

/**
 * A clock 40 days ahead for three seconds, under load: nothing is admitted by it, nothing final is written, nobody loses
 * a credit; once readings have been steady for a while requests are served again.
 */
export function movedClock(options: SceneOptions): Promise<SceneAudit> {
  return onStage(options, {}, async (stage) => {
    const { site, clients, watch, keys } = stage;
    const file = join(options.folder, 'clock-shift');
    writeFileSync(file, '0');
    const start = (): StartedProcess =>
      stage.started(site.startGateway({ preload: PRELOAD, environment: { MOVED_CLOCK_FILE: file } }));
    const last = start();
    const { url } = await last.firstLine;
    clients.useGateways([url]);
    await clients.untilSent(REQUESTS);

    writeFileSync(file, String(AHEAD_MS));
    const movedAtMs = Date.now();
    await delay(MOVED_MS);
    writeFileSync(file, '0');
    const backAtMs = Date.now();
    options.say(`the clock was 40 days ahead for ${backAtMs - movedAtMs} ms`);
    const servedAgainMs = await untilServed(stage, backAtMs);
    const sentBefore = clients.sent.length;
    await clients.untilSent(sentBefore + REQUESTS);
    await clients.stop();
    await watch.stop();

    const { sent } = clients;
    const audit = await auditRun({
      site,
      last,
      url,
      sent,
      killsMs: [],
      keys,
      start,
      limits: [],
      mayRefuse: () => false,
    });
    const faults = [...audit.faults, ...watch.faults, ...(await auditFinal(stage))];
    const admitted = sent.filter(
      ({ sentAtMs, status }) => sentAtMs >= movedAtMs + NOTICED_MS && sentAtMs < backAtMs && status === 200,
    );
    if (admitted.length > 0) faults.push(`${admitted.length} requests were served while the clock was 40 days ahead`);
    if (servedAgainMs === null) faults.push(`nothing is served ${STEADY_MS_MAX} ms after the clock was right again`);
    return { faults, told: `${sent.length} requests, served again ${servedAgainMs} ms after the clock was right` };
  });
}

/** How long after an instant clients are served again; null where they are not, within the bound. */
const untilServed = (stage: Stage, sinceMs: number): Promise<number | null> =>
  lookFor(stage, STEADY_MS_MAX, () => {
    const served = stage.clients.sent.find(({ sentAtMs, status }) => sentAtMs > sinceMs + NOTICED_MS && status === 200);
    return served === undefined ? null : served.sentAtMs - sinceMs;
  });

/** No credit was taken by a clock, and no request has begun in a time that has not come. */
async function auditFinal({ site }: Stage): Promise<string[]> {
  const faults: string[] = [];
  for (const accountId of site.accountIds)
    for (const { type, data, revision } of await site.accountEvents(accountId)) {
      if (type === 'CreditsExpired') faults.push(`${accountId} ${revision}: credits expired by a clock that was wrong`);
      const { startedAt } = data as { readonly startedAt?: string };
      if (startedAt !== undefined && Date.parse(startedAt) > Date.now() + SLACK_MS)
        faults.push(`${accountId} ${revision}: a request began at ${startedAt}`);
    }
  return faults;
}
