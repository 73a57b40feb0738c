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

interface MeasuredRound {
  readonly observed: Sample;
  readonly plain: Sample;
}

/** The load of `json` on two gateways in turns, of which one keeps an access log and metrics. */
export async function measureObserved(processes: Processes, options: Options): Promise<MeasuredRound[]> {
  const upstream = processes.fork('observed-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const start = (folder: keyof typeof SETTINGS): Promise<Ours> =>
    startOurs(processes, port, { profile: false, isProbed: false, folder, settings: SETTINGS[folder] });
  const [observed, plain] = [await start('observed'), await start('plain')];
  const load = new LoadGenerator(processes, 'observed-load');
  const bench: Bench = { load, upstreamPid: upstream.pid ?? 0, options };
  const cores = pinnableCores();
  if (cores !== null) {
    pin([load.pid, bench.upstreamPid], cores.load);
    pin([...observed.pids, ...plain.pids], cores.measured);
  }
  for (const one of [observed, plain]) await warmUp(bench, one, 'json');
  const rounds: MeasuredRound[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const first = await measure(bench, round % 2 === 0 ? observed : plain, 'json', round);
    const second = await measure(bench, round % 2 === 0 ? plain : observed, 'json', round);
    rounds.push(round % 2 === 0 ? { observed: first, plain: second } : { observed: second, plain: first });
  }
  for (const name of ['observed', 'plain', 'observed-load', 'observed-upstream']) await processes.stop(name);
  return rounds;
}
