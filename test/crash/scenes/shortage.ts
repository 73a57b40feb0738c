import { setTimeout as delay } from 'node:timers/promises';
import { auditRun, type RunToAudit } from '../audit-run.ts';
import type { SceneAudit, Stage } from './scene.ts';

/** Until a gateway that lacks something says so to a client, and until it serves again. */
const WAIT_MS_MAX = 120_000;
const LOOK_MS = 100;
/** So many show that it is not one client's mishap. */
const REFUSED_MIN = 3;
const SERVED_MIN = 5;

/** How many requests since an instant were refused as by a gateway that lacks something, or found no connection. */
export async function refusedSince({ clients }: Stage, sinceMs: number): Promise<number> {
  const refused = (): number =>
    clients.sent.filter(
      ({ sentAtMs, status, left }) => sentAtMs >= sinceMs && !left && (status === 529 || status === null),
    ).length;
  for (const untilMs = Date.now() + WAIT_MS_MAX; refused() < REFUSED_MIN; await delay(LOOK_MS))
    if (Date.now() > untilMs) throw new Error('the shortage was not felt: nothing was refused');
  return refused();
}

/** How long after an instant requests are served again; null where they are not, within the bound. */
export async function servedSince({ clients, site }: Stage, sinceMs: number): Promise<number | null> {
  for (const untilMs = Date.now() + WAIT_MS_MAX; Date.now() < untilMs; await delay(LOOK_MS)) {
    const served = clients.sent.filter(
      ({ sentAtMs, status, heard }) => sentAtMs >= sinceMs && status === 200 && heard === 'complete',
    );
    const enough = served.at(SERVED_MIN - 1);
    if (enough !== undefined) return enough.sentAtMs - sinceMs;
    await clients.refillKeys((accountId) => site.issueKey(accountId));
  }
  return null;
}

type Played = Pick<RunToAudit, 'last' | 'url' | 'start' | 'killsMs'> & {
  readonly servedMs: readonly (number | null)[];
};

/** The auditor's word on all that there was, and whether it was served again each time. */
export async function auditShortage(stage: Stage, { servedMs, ...played }: Played): Promise<SceneAudit> {
  const { site, clients, watch, keys } = stage;
  await clients.stop();
  await watch.stop();
  const { sent } = clients;
  const audit = await auditRun({ site, sent, keys, limits: [], mayRefuse: () => false, ...played });
  const faults = [...audit.faults, ...watch.faults];
  if (servedMs.includes(null)) faults.push(`nothing is served ${WAIT_MS_MAX} ms after the shortage was over`);
  const answers = Map.groupBy(sent, ({ status }) => status ?? 'no answer');
  const told = [...answers].map(([status, same]) => `${same.length} of ${status}`).join(', ');
  return { faults, told: `${sent.length} requests (${told}), served again after ${servedMs.join(' and ')} ms` };
}
