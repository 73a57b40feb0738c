import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { type Ours, startOurs } from '../contenders/ours.ts';
import { LoadGenerator } from '../load-generator.ts';
import { readDelay } from '../measure.ts';
import type { Options } from '../options.ts';
import { payingLoad } from '../paying-load.ts';
import { HOSTILE_NAMES, type HostileBody } from './hostile-bodies.ts';
import type { HostileSample } from './hostile-figures.ts';
import type { HostileCommand, HostileReply } from './hostile-sender.ts';

/**
 * The p99 of a paying client alone, beside bodies that go to another process, and beside the same that a key without credits
 * sends to the gateway, in turns.
 */
export async function measureHostile(processes: Processes, options: Options): Promise<HostileSample[]> {
  const upstream = processes.fork('hostile-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const sink = processes.fork('hostile-sink', new URL('./hostile-sink.ts', import.meta.url));
  const [{ port: sinkPort }] = await once(sink, 'message');
  const ours = await startOurs(processes, port, { profile: false, folder: 'hostile-ours' });
  const load = new LoadGenerator(processes);
  const sender = processes.fork('hostile-sender', new URL('./hostile-sender.ts', import.meta.url));
  await load.start(payingLoad(ours));
  await setTimeout(options.warmUpMs);
  const samples: HostileSample[] = [];
  for (let round = 0; round < options.rounds; round++)
    for (const body of HOSTILE_NAMES) samples.push(await measureBody({ ours, sinkPort, load, sender, options }, body));
  await load.stop();
  for (const name of ['hostile-ours', 'load', 'hostile-sender', 'hostile-sink', 'hostile-upstream'])
    await processes.stop(name);
  return samples;
}

interface Scene {
  readonly ours: Ours;
  readonly sinkPort: number;
  readonly load: LoadGenerator;
  readonly sender: ChildProcess;
  readonly options: Options;
}

async function measureBody(
  { ours, sinkPort, load, sender, options }: Scene,
  body: HostileBody,
): Promise<HostileSample> {
  const p99Us = async (): Promise<number> => {
    await setTimeout(options.settleMs);
    await load.mark();
    await setTimeout(options.windowMs);
    return (await load.read()).answer.p99Us;
  };
  const aloneP99Us = await p99Us();
  const send = (port: number) =>
    tell(sender, { type: 'start', url: `http://127.0.0.1:${port}/v1/messages`, key: ours.brokeKey, body });
  await send(sinkPort);
  const sinkP99Us = await p99Us();
  await tell(sender, { type: 'stop' });
  await send(ours.port);
  await readDelay(ours);
  const besideP99Us = await p99Us();
  const { turnCpuMaxMs: turnMaxMs } = await readDelay(ours);
  const { statuses } = await tell(sender, { type: 'stop' });
  return { body, aloneP99Us, sinkP99Us, besideP99Us, turnMaxMs, statuses };
}

async function tell(sender: ChildProcess, command: HostileCommand): Promise<HostileReply> {
  const replied = once(sender, 'message');
  sender.send(command);
  const [reply] = await replied;
  return reply;
}
