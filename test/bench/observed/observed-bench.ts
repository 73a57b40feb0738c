import { once } from 'node:events';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { type Ours, startOurs } from '../contenders/ours.ts';
import { pin, pinnableCores } from '../cores.ts';
import { LoadGenerator } from '../load-generator.ts';
import { type Bench, measure, type Sample, warmUp } from '../measure.ts';
import type { Options } from '../options.ts';

/** Of `gateway serve`: as an operator has it, and with nothing that looks on. */
const SETTINGS = {
  observed: { metrics: { serve: { port: 0 } } },
  plain: { accessLog: 'none' },
};

/** What changes on the machine within a round meets both: two windows of one stand between two of the other. */
const ORDERS = [
  ['observed', 'plain', 'plain', 'observed'],
  ['plain', 'observed', 'observed', 'plain'],
] as const;

interface MeasuredRound {
  readonly observed: readonly Sample[];
  readonly plain: readonly Sample[];
}

/** The load of `json` on two gateways in turns, of which one keeps an access log and metrics. */
export async function measureObserved(processes: Processes, options: Options): Promise<MeasuredRound[]> {
  const upstream = processes.fork('observed-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const start = (folder: keyof typeof SETTINGS): Promise<Ours> =>
    startOurs(processes, port, { profile: false, isProbed: false, folder, settings: SETTINGS[folder] });
  const gateways = { observed: await start('observed'), plain: await start('plain') };
  const halved = { ...options, windowMs: options.windowMs / 2 };
  const load = new LoadGenerator(processes, 'observed-load');
  const bench: Bench = { load, upstreamPid: upstream.pid ?? 0, options: halved };
  const cores = pinnableCores();
  if (cores !== null) {
    pin([load.pid, bench.upstreamPid], cores.load);
    pin([...gateways.observed.pids, ...gateways.plain.pids], cores.measured);
  }
  for (const gateway of Object.values(gateways)) await warmUp(bench, gateway, 'json');
  const rounds: MeasuredRound[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const windows = { observed: [] as Sample[], plain: [] as Sample[] };
    for (const name of ORDERS[round % 2] ?? []) windows[name].push(await measure(bench, gateways[name], 'json', round));
    rounds.push(windows);
  }
  for (const name of ['observed', 'plain', 'observed-load', 'observed-upstream']) await processes.stop(name);
  return rounds;
}
