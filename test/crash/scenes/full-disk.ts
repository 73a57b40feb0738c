import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killAtOnce, type StartedProcess } from '../../fixtures/processes/child-process.ts';
import { mountDisk } from '../../shortages/mounted-disk.ts';
import { SupervisedStart } from '../supervised-start.ts';
import type { SceneAudit, SceneOptions } from './scene.ts';
import { onStage } from './scene.ts';
import { auditShortage, refusedSince, servedSince } from './shortage.ts';

const REQUESTS = 20;
/** Journal with its reserve, ledger and views, and as much again. */
const DISK_KIB = 64 * 1_024;
const FULL_MS = 800;

/**
 * The gateway's disk is full under load: requests are refused, and are served again by the same process once there is
 * room. Then it is full once more, the gateway is killed, and a supervisor starts it on the full disk until there is room.
 */
export async function fullDisk(options: SceneOptions): Promise<SceneAudit> {
  const disk = mountDisk(join(options.folder, 'data'), DISK_KIB);
  try {
    return await onStage(options, {}, async (stage) => {
      const { site, clients } = stage;
      const start = (): StartedProcess => stage.started(site.startGateway());
      const first = start();
      clients.useGateways([(await first.firstLine).url]);
      await clients.untilSent(REQUESTS);

      const fullAtMs = Date.now();
      disk.leaveFree(0);
      const refused = await refusedSince(stage, fullAtMs);
      await delay(FULL_MS);
      disk.clear();
      const servedMs = await servedSince(stage, Date.now());
      options.say(`full: ${refused} refused, served again ${servedMs} ms after there was room`);

      const againAtMs = Date.now();
      disk.leaveFree(0);
      await refusedSince(stage, againAtMs);
      const killedAtMs = Date.now();
      await killAtOnce(first);
      clients.useGateways([]);
      const supervised = new SupervisedStart();
      const ready = supervised.untilReady(start);
      await Promise.race([ready, delay(FULL_MS)]);
      disk.clear();
      const { life: last, url } = await ready;
      clients.useGateways([url]);
      const servedAgainMs = await servedSince(stage, Date.now());
      options.say(`killed on the full disk: ${supervised.failed} starts came to nothing`);
      return auditShortage(stage, { last, url, start, killsMs: [killedAtMs], servedMs: [servedMs, servedAgainMs] });
    });
  } finally {
    disk.unmount();
  }
}
