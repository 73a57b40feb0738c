import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Processes } from '../fixtures/processes/processes.ts';
import { type AttackSite, layOutAttackSite, NO_TRIAL } from './attack-site.ts';
import { ATTACKS } from './attacks.ts';
import { README_FRONTS } from './readme-fronts.ts';
import { bodyBytes, type Held, heldBy, watchBeside } from './watcher.ts';

/**
 * Attacks from outside on a gateway that is a process of its own, straight and through what the README puts in front. Beside each a
 * client pays and is served; afterwards the gateway holds no more than before.
 */
const MEMORY_AFTER_MIB_MAX = 500;
const DESCRIPTORS_MORE_MAX = 16;
const processes = new Processes();
let site: AttackSite;
const urls: Record<string, string | null> = {};
/** Once everything that it needs for itself is loaded. */
let before: Held;
beforeAll(async () => {
  // What stands behind the limits holds by itself: they would let hardly any of it in.
  const rateLimits = { unpaid: { requestsPerMinute: 100_000, concurrentRequests: 1_000 } };
  site = await layOutAttackSite({ ...NO_TRIAL, rateLimits, connections: { perAddress: 400 } });
  await watchBeside(
    site,
    () => ATTACKS['a million wrong elements']?.run({ url: site.url, key: site.brokeKey }) ?? Promise.resolve(),
  );
  before = heldBy(site.pid);
  urls.straight = site.url;
  for (const [name, start] of Object.entries(README_FRONTS)) {
    urls[name] = await start(processes, site.url);
    if (urls[name] === null) process.stderr.write(`skipped: ${name} is not installed, no attacks go through it\n`);
  }
});
afterAll(async () => {
  await site.close();
  await processes.stopAll();
});

/** One front with all of it is enough to tell; with the other what bodies and connections are to it. */
const THROUGH_CADDY: readonly string[] = [
  'bodies of strangers',
  'long bodies to be counted',
  'bodies that do not come',
  'connections that say nothing',
  'clients that leave in the middle of a body',
];
const attacksBy = (way: string) =>
  Object.entries(ATTACKS).filter(([name]) => way !== 'caddy' || THROUGH_CADDY.includes(name));

describe.each(['straight', 'nginx', 'caddy'])('%s', (way) => {
  it.for(attacksBy(way))('a client that pays is served beside %s', async ([, attack], { skip }) => {
    const url = urls[way] ?? null;
    if (url === null) return skip(`${way} is not installed`);
    const start = heldBy(site.pid);
    let mostMib = 0;
    const watching = setInterval(() => {
      mostMib = Math.max(mostMib, heldBy(site.pid).residentMib);
    }, 20);
    let answers: string[] = [];
    const { statuses, probes } = await watchBeside(site, async () => {
      answers = await attack.run({ url, key: site.brokeKey });
    });
    clearInterval(watching);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(new Set(probes)).toEqual(new Set([200]));
    expect(answers.filter((status) => status !== '' && !attack.statuses.includes(status))).toEqual([]);
    expect(mostMib).toBeLessThan(start.residentMib + attack.memoryMib);
    await expect.poll(() => bodyBytes(site)).toBe(0);
    await expect
      .poll(() => heldBy(site.pid).descriptors)
      .toBeLessThanOrEqual(before.descriptors + DESCRIPTORS_MORE_MAX);
  });
});

/** What its threads have read goes with them, once they have had nothing to do for a while. */
it('holds no more after all that than before', async () => {
  await expect
    .poll(() => heldBy(site.pid).residentMib, { interval: 500 })
    .toBeLessThan(before.residentMib + MEMORY_AFTER_MIB_MAX);
});
