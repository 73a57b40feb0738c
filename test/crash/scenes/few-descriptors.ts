import { setTimeout as delay } from 'node:timers/promises';
import type { StartedProcess } from '../../fixtures/processes/child-process.ts';
import { leaveDescriptors } from '../../shortages/descriptor-limit.ts';
import type { SceneAudit, SceneOptions } from './scene.ts';
import { onStage } from './scene.ts';
import { auditShortage, refusedSince, servedSince } from './shortage.ts';

const REQUESTS = 20;
const FEW_MS = 800;
/** Some connections, and no more. */
const FREE = [0, 3];

/**
 * The gateway has hardly a descriptor left under load, and then none: what needs one is refused or finds no connection, and
 * all is served again, by the same process, once there are some.
 */
export function fewDescriptors(options: SceneOptions): Promise<SceneAudit> {
  return onStage(options, {}, async (stage) => {
    const { site, clients } = stage;
    const start = (): StartedProcess => stage.started(site.startGateway());
    const last = start();
    const { url } = await last.firstLine;
    clients.useGateways([url]);
    await clients.untilSent(REQUESTS);
    const servedMs: (number | null)[] = [];
    for (const free of FREE) {
      const fewAtMs = Date.now();
      const end = leaveDescriptors(last.child.pid ?? 0, free);
      try {
        const refused = await refusedSince(stage, fewAtMs);
        await delay(FEW_MS);
        options.say(`${free} descriptors left: ${refused} requests refused, or without a connection`);
      } finally {
        end();
      }
      servedMs.push(await servedSince(stage, Date.now()));
    }
    return auditShortage(stage, { last, url, start, killsMs: [], servedMs });
  });
}
