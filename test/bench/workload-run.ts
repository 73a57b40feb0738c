import { once } from 'node:events';
import type { Processes } from '../fixtures/processes/processes.ts';
import { CONTENDERS, type Contender, type ContenderName, isAgain } from './contenders/contender.ts';
import { direct } from './contenders/direct.ts';
import { startFloor } from './contenders/floor.ts';
import { Gateways, isGateway } from './contenders/gateways.ts';
import { startNginx } from './contenders/nginx.ts';
import { startPortkey } from './contenders/portkey.ts';
import { type Cores, pin, pinnableCores } from './cores.ts';
import { profileReport } from './cpu-profile.ts';
import { type Figure, figureOf } from './figures.ts';
import { LoadGenerator } from './load-generator.ts';
import type { Bench, Sample } from './measure.ts';
import type { Options } from './options.ts';
import { workloadReport } from './report.ts';
import { type ChangeFigure, changeFigure, changeReport } from './rounds/change-figure.ts';
import { type Compared, type MeasuredRound, measureRounds } from './rounds/measure-rounds.ts';
import { say } from './say.ts';
import { measureStreams } from './streams/streams-bench.ts';
import { type StreamsFigure, streamsReport } from './streams/streams-figures.ts';
import { WORKLOADS, type WorkloadName } from './workloads.ts';

interface WorkloadsMeasured {
  readonly figures: readonly Figure[];
  readonly samples: readonly Sample[];
  /** By workload, where this program was compared with one of before. */
  readonly changes: readonly ChangeFigure[];
  readonly streams: readonly StreamsFigure[];
}

interface Scene {
  readonly processes: Processes;
  readonly upstreamPort: number;
  readonly bench: Bench;
  /** Null where nothing is pinned. */
  readonly cores: Cores | null;
  readonly gateways: Gateways;
}

/** The contenders, workload by workload, in interleaved rounds; and the most streams that each holds. */
export async function runWorkloads(options: Options, processes: Processes): Promise<WorkloadsMeasured> {
  const samples: Sample[] = [];
  const figures: Figure[] = [];
  const changes: ChangeFigure[] = [];
  if (options.workloads.length === 0 && options.streams === null) return { figures, samples, changes, streams: [] };
  const scene = await beginRun(options, processes);
  const lasting = await startLasting(scene);
  for (const workload of options.workloads) {
    const rounds = await runWorkload(scene, lasting, workload);
    const measured = rounds.flatMap(({ alone }) => [...alone.values()]);
    samples.push(...measured);
    figures.push(...figuresOf(measured));
    if (measured.length > 0) say(workloadReport(figures, workload));
    if (!isCompared(options)) continue;
    const change = changeFigure(workload, rounds);
    changes.push(change);
    say(changeReport(change));
  }
  const streams = options.streams === null ? [] : await runStreams(scene, lasting);
  const profile = options.profile ? await scene.gateways.profileOfOurs() : null;
  if (profile !== null) say(profileReport(profile));
  return { figures, samples, changes, streams };
}

async function beginRun(options: Options, processes: Processes): Promise<Scene> {
  const upstream = processes.fork('upstream', new URL('fast-upstream/main.ts', import.meta.url));
  const [{ port: upstreamPort }] = await once(upstream, 'message');
  const bench: Bench = { load: new LoadGenerator(processes), upstreamPid: upstream.pid ?? 0, options };
  // A core for whoever is measured, as one process of many has it, and for nothing else of the benchmark.
  const cores = pinnableCores();
  if (cores !== null) pin([bench.load.pid, bench.upstreamPid], cores.load);
  else say('fewer than two cores, or no taskset (util-linux): nothing is pinned, and the figures are rough\n');
  return { processes, upstreamPort, bench, cores, gateways: new Gateways(processes, upstreamPort, options) };
}

/** Then the gateways of each round are new ones. */
const isCompared = ({ contenders }: Options): boolean => contenders.some(isAgain);

/** What is there for all rounds of all workloads. */
async function startLasting(scene: Scene): Promise<Map<ContenderName, Contender>> {
  const { bench, cores } = scene;
  const lasting = new Map<ContenderName, Contender>();
  for (const name of bench.options.contenders) {
    if (isGateway(name) && isCompared(bench.options)) continue;
    const contender = await startContender(scene, name);
    if (contender === null) say(`${name} is not installed (apt-get install ${name}): going on without it`);
    else lasting.set(name, contender);
  }
  if (cores !== null) for (const { pids } of lasting.values()) pin(pids, cores.measured);
  return lasting;
}

/** Null where it is not installed. */
function startContender({ processes, upstreamPort, gateways }: Scene, name: ContenderName): Promise<Contender | null> {
  switch (name) {
    case 'direct':
      return Promise.resolve(direct(upstreamPort));
    case 'nginx':
      return startNginx(processes, upstreamPort);
    case 'floor':
      return startFloor(processes, upstreamPort);
    case 'portkey':
      return startPortkey(processes, upstreamPort);
    case 'before':
    case 'before-again':
    case 'ours-again':
    case 'ours':
      return gateways.start(name, { folder: name, isProbed: true });
  }
}

async function runWorkload(
  { processes, bench, cores, gateways }: Scene,
  lasting: ReadonlyMap<ContenderName, Contender>,
  workload: WorkloadName,
): Promise<MeasuredRound<ContenderName>[]> {
  const without: readonly string[] = WORKLOADS[workload].without;
  const compared = new Map<ContenderName, Compared>();
  for (const name of bench.options.contenders) {
    const contender = lasting.get(name);
    if (without.includes(name)) continue;
    if (contender !== undefined) compared.set(name, { type: 'lasting', contender });
    else if (isGateway(name)) {
      const start = (folder: string) => gateways.start(name, { folder, isProbed: workload === 'ledger' });
      compared.set(name, { type: 'fresh', start });
    }
  }
  return await measureRounds(bench, { processes, called: workload, cores, compared, workload });
}

function figuresOf(samples: readonly Sample[]): Figure[] {
  return [...Map.groupBy(samples, ({ contender }) => contender).values()]
    .map(figureOf)
    .toSorted((a, b) => order(a) - order(b));
}

const order = ({ contender }: Figure): number => CONTENDERS.indexOf(contender);

async function runStreams(
  scene: Scene,
  lasting: ReadonlyMap<ContenderName, Contender>,
): Promise<readonly StreamsFigure[]> {
  const { upstreamPort, bench, cores } = scene;
  const range = bench.options.streams;
  if (range === null) return [];
  const contenders = [...lasting.values()];
  if (isCompared(bench.options))
    for (const name of ['before', 'ours'] as const) {
      const gateway = await scene.gateways.start(name, { folder: name, isProbed: true });
      if (cores !== null) pin(gateway.pids, cores.measured);
      contenders.push(gateway);
    }
  const streams = await measureStreams(bench, { contenders, direct: direct(upstreamPort), range });
  say(streamsReport(streams, range));
  return streams;
}
