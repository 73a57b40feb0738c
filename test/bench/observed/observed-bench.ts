import { once } from 'node:events';
import { join } from 'node:path';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { makeGatewayData } from '../contenders/gateway-data.ts';
import { startOurs } from '../contenders/ours.ts';
import { pin, pinnableCores } from '../cores.ts';
import { LoadGenerator } from '../load-generator.ts';
import type { Bench } from '../measure.ts';
import type { Options } from '../options.ts';
import { type Compared, type MeasuredRound, measureRounds } from '../rounds/measure-rounds.ts';
import type { ObservedName } from './observed-figure.ts';

/** Of `gateway serve`: as an operator has it, and with nothing that looks on. */
const OBSERVED = { metrics: { serve: { port: 0 } } };
const PLAIN = { accessLog: 'none' };

/** The load of `json` on four gateways in turns, of which two keep an access log and metrics. */
export async function measureObserved(processes: Processes, options: Options): Promise<MeasuredRound<ObservedName>[]> {
  const upstream = processes.fork('observed-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const load = new LoadGenerator(processes, 'observed-load');
  const bench: Bench = { load, upstreamPid: upstream.pid ?? 0, options };
  const cores = pinnableCores();
  if (cores !== null) pin([load.pid, bench.upstreamPid], cores.load);
  const began = makeGatewayData(GATEWAY_PROGRAM, join(processes.folder, 'observed-data'));
  const gateway = (settings: Readonly<Record<string, unknown>>): Compared => ({
    type: 'fresh',
    start: (folder) => startOurs(processes, port, { profile: false, isProbed: false, folder, settings, began }),
  });
  const compared = new Map<ObservedName, Compared>([
    ['observed', gateway(OBSERVED)],
    ['plain', gateway(PLAIN)],
    ['plain again', gateway(PLAIN)],
    ['observed again', gateway(OBSERVED)],
  ]);
  const rounds = await measureRounds(bench, { processes, called: 'observed', cores, compared, workload: 'json' });
  for (const name of ['observed-load', 'observed-upstream']) await processes.stop(name);
  return rounds;
}
