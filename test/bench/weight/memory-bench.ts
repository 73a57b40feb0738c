import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../../fixtures/processes/processes.ts';
import type { Contender } from '../contenders/contender.ts';
import { startFloor } from '../contenders/floor.ts';
import { startOurs } from '../contenders/ours.ts';
import { pin, pinnableCores } from '../cores.ts';
import { median } from '../load/latencies.ts';
import { LoadGenerator } from '../load-generator.ts';
import { loadOf } from '../measure.ts';
import type { Options } from '../options.ts';
import { usageOf } from '../process-usage.ts';
import { WORKLOADS } from '../workloads.ts';
import { GatewayFolder } from './gateway-folder.ts';
import { SMALLER_FOR_MEMORY } from './ledger-sizes.ts';
import type { IdleAccounts, MemoryFigure } from './weight-figures.ts';

/** A process that has just started frees some of what its start took. */
const IDLE_MS = 5_000;
const LOOK_MS = 100;

type MemoryOptions = Pick<Options, 'warmUpMs' | 'windowMs' | 'accounts' | 'body'>;

/** What ours and the floor have resident, idle and under the load of `json`, and what an account adds that does nothing. */
export async function measureMemory(processes: Processes, options: MemoryOptions): Promise<MemoryFigure> {
  const upstream = processes.fork('memory-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const load = new LoadGenerator(processes, 'memory-load');
  const cores = pinnableCores();
  if (cores !== null) pin([load.pid, upstream.pid ?? 0], cores.load);
  const weigh = async (contender: Contender) => {
    if (cores !== null) pin(contender.pids, cores.measured);
    return await weighContender(contender, load, options);
  };
  const floor = await weigh(await startFloor(processes, port));
  await processes.stop('floor');
  // The first start of an installation compiles what each later one finds compiled (`main.mjs`), and has 40 MB more for it.
  await startOurs(processes, port, { profile: false, folder: 'memory-first', isProbed: false });
  await processes.stop('memory-first');
  const name = 'memory-ours';
  const ours = await weigh(await startOurs(processes, port, { profile: false, folder: name, isProbed: false }));
  for (const process of [name, 'memory-load', 'memory-upstream']) await processes.stop(process);
  const few = await weighAccounts(processes, Math.ceil(options.accounts / SMALLER_FOR_MEMORY));
  return { ours, floor, accounts: [few, await weighAccounts(processes, options.accounts)] };
}

async function weighContender(contender: Contender, load: LoadGenerator, options: MemoryOptions) {
  const rssBytes = () => usageOf(contender.pids).rssBytes;
  await setTimeout(IDLE_MS);
  const idle = rssBytes();
  await load.start(loadOf(contender, WORKLOADS.json, options));
  await setTimeout(options.warmUpMs);
  const loaded: number[] = [];
  for (let ms = 0; ms < options.windowMs; ms += LOOK_MS) {
    await setTimeout(LOOK_MS);
    loaded.push(rssBytes());
  }
  await load.read();
  await load.stop();
  return { idle, loaded: median(loaded) };
}

/** As a restart has them: the views that the first start has made are read from their file. */
async function weighAccounts(processes: Processes, accounts: number): Promise<IdleAccounts> {
  const folder = await GatewayFolder.make(processes, `idle-accounts-${accounts}`, { accounts, events: 0 });
  await folder.start();
  await folder.stop();
  const { pid } = await folder.start();
  await setTimeout(IDLE_MS);
  const { rssBytes } = usageOf([pid]);
  await folder.stop();
  return { accounts, rssBytes };
}
