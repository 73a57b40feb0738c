import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { stopInOrder } from '../../fixtures/processes/child-process.ts';
import { SeededRandom } from '../../fixtures/seeded-random.ts';
import { auditRun } from '../audit-run.ts';
import { FaultyEventStore } from '../faulty-event-store.ts';
import { lookFor, onStage, type SceneAudit, type SceneOptions, type Stage } from './scene.ts';

const REQUESTS = 40;
/** How long both are sent requests: the older one has noticed by then that its name is another's. */
const BOTH_MS = 12_000;
const STOPS_MS_MAX = 120_000;

/**
 * A proxy's folder is copied under load, and a second one started on the copy: two of one name, with one lease and the
 * same requests under way in their journals. The older one stops admitting; every request is billed once.
 */
export async function copiedFolder(options: SceneOptions): Promise<SceneAudit> {
  const store = await FaultyEventStore.start(new SeededRandom(options.seed));
  try {
    return await onStage(options, { store }, async (stage) => {
      const { site, clients, watch, keys } = stage;
      await store.calm();
      const older = stage.started(site.startGateway());
      const { url: olderUrl } = await older.firstLine;
      clients.useGateways([olderUrl]);
      await clients.untilSent(REQUESTS);

      const copy = join(options.folder, 'copy');
      const copiedAtMs = Date.now();
      cpSync(site.data, copy, { recursive: true });
      const start = () => stage.started(site.startGateway({ data: copy }));
      const last = start();
      const { url } = await last.firstLine;
      const readyAtMs = Date.now();
      clients.useGateways([olderUrl, url]);
      options.say(`two proxies of one name for ${BOTH_MS} ms`);
      await lookFor(stage, BOTH_MS, () => null);
      const hasStopped = await untilRefusing(stage, olderUrl);
      clients.useGateways([url]);
      await clients.untilSent(clients.sent.length + REQUESTS);
      await clients.stop();
      await watch.stop();
      await stopInOrder(older);

      const { sent } = clients;
      // What was under way when the folder was copied, or until the second one had read its journal, is recovered there.
      const killsMs = [copiedAtMs, readyAtMs];
      const mayRefuse = () => false;
      const dataOfLast = { ...site, data: copy };
      const audit = await auditRun({ site: dataOfLast, last, url, sent, killsMs, keys, start, limits: [], mayRefuse });
      const faults = [...audit.faults, ...watch.faults];
      if (!hasStopped) faults.push(`the older proxy still admits ${STOPS_MS_MAX} ms after another has its name`);
      return { faults, told: `${sent.length} requests, ${audit.debits} debits, ${audit.late} reported late` };
    });
  } finally {
    await store.close();
  }
}

/** Whether the latest answers of a proxy are all refusals, within the bound. */
async function untilRefusing(stage: Stage, url: string): Promise<boolean> {
  const found = await lookFor(stage, STOPS_MS_MAX, () => {
    const latest = stage.clients.sent.filter((request) => request.url === url).slice(-LATEST);
    const isRefusing = latest.every(({ status }) => status === null || status === 529);
    return latest.length === LATEST && isRefusing ? true : null;
  });
  return found !== null;
}

const LATEST = 10;
