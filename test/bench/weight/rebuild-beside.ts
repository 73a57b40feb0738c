import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import { GATEWAY_PROGRAM } from '../../fixtures/processes/gateway-command.ts';
import type { Processes } from '../../fixtures/processes/processes.ts';
import { ledgerOfOurs, modelOf, type Ours, startOurs } from '../contenders/ours.ts';
import { MODELS } from '../fast-upstream/answers.ts';
import { fillLedger } from '../fill-ledger.ts';
import { LoadGenerator } from '../load-generator.ts';
import type { Options } from '../options.ts';
import { payingLoad } from '../paying-load.ts';
import { GatewayFolder } from './gateway-folder.ts';
import { accountsOf } from './ledger-sizes.ts';
import type { BesideSample } from './rebuild-figure.ts';
import { wholeRun } from './whole-run.ts';

const NAME = 'rebuilt-ours';
/** It folds all of its ledger first. */
const READY_MS_MAX = 600_000;

/**
 * The p99 of a paying client alone, beside a rebuild of another folder's views, which is what the machine does to it, and beside
 * one of the gateway's own and its switch; in turns. An answer that is not 200 ends the run.
 */
export async function measureRebuildBeside(processes: Processes, options: Options): Promise<BesideSample[]> {
  const size = { events: options.events, accounts: accountsOf(options.events) };
  const other = await GatewayFolder.make(processes, 'rebuilt-other', size);
  const ledger = ledgerOfOurs(processes, NAME);
  mkdirSync(dirname(ledger), { recursive: true });
  await fillLedger(ledger, size, catalogFileSchema.parse({ models: Object.values(MODELS).map(modelOf) }));
  const upstream = processes.fork('rebuild-upstream', new URL('../fast-upstream/main.ts', import.meta.url));
  const [{ port }] = await once(upstream, 'message');
  const begun = { profile: false, folder: NAME, isProbed: false, readyMsMax: READY_MS_MAX };
  const ours = await startOurs(processes, port, begun);
  const load = new LoadGenerator(processes);
  await load.start(payingLoad(ours));
  await setTimeout(options.warmUpMs);
  const p99While = async (work: () => Promise<unknown>): Promise<number> => {
    await setTimeout(options.settleMs);
    await load.mark();
    await work();
    return (await load.read()).answer.p99Us;
  };
  const samples: BesideSample[] = [];
  for (let round = 0; round < options.rounds; round++)
    samples.push({
      aloneP99Us: await p99While(() => setTimeout(options.windowMs)),
      otherP99Us: await p99While(() => other.runOnAll('projections', 'rebuild', '--all', '--anew', '--dry-run')),
      besideP99Us: await p99While(() => rebuiltAndSwitched(processes, ours)),
    });
  await load.stop();
  for (const name of [NAME, 'load', 'rebuild-upstream']) await processes.stop(name);
  return samples;
}

async function rebuiltAndSwitched(processes: Processes, { configuration }: Ours): Promise<void> {
  const command = [GATEWAY_PROGRAM, '--config', configuration, '--json', 'projections', 'rebuild', '--all', '--anew'];
  const { stdout } = await wholeRun(processes, [process.execPath, ...command], { BENCH_KEY: 'bench' });
  if (JSON.parse(stdout).switched === null) throw new Error('it was not switched');
}
