import type { Processes } from '../../fixtures/processes/processes.ts';
import { firstAccount } from '../fill-ledger.ts';
import type { Options } from '../options.ts';
import { bareScan } from './bare-scan.ts';
import { GatewayFolder } from './gateway-folder.ts';
import { accountsOf, SMALLER_FOR_TIME } from './ledger-sizes.ts';
import { HELP, type ReplaySample, START_OF_GATEWAY, type StartSample } from './weight-figures.ts';

export interface ReplaySamples {
  readonly replays: ReplaySample[];
  readonly starts: StartSample[];
}

type ReplayOptions = Pick<Options, 'rounds' | 'events' | 'replay' | 'start'>;

/**
 * On ledgers that are there before: views from nothing beside a bare scan, in turns; and, with views that are up to date, the
 * start of the gateway, and commands beside it.
 */
export async function measureReplay(processes: Processes, options: ReplayOptions): Promise<ReplaySamples> {
  const { events, rounds } = options;
  const sizes = options.replay ? [Math.floor(events / SMALLER_FOR_TIME), events] : [events];
  const folders: { folder: GatewayFolder; events: number; accounts: number }[] = [];
  for (const size of sizes) {
    const wanted = { events: size, accounts: accountsOf(size) };
    folders.push({ folder: await GatewayFolder.make(processes, `weight-${size}`, wanted), ...wanted });
  }
  const replays: ReplaySample[] = [];
  for (let round = 0; options.replay && round < rounds; round++)
    for (const { folder, ...size } of folders) {
      const { stdout, ...scan } = await bareScan(processes, folder.ledger);
      if (JSON.parse(stdout).events < size.events) throw new Error(`the scan has seen ${stdout}`);
      replays.push({ ...size, scan, replay: await viewsFromNothing(folder) });
    }
  const largest = folders.at(-1)?.folder;
  if (!options.start || largest === undefined) return { replays, starts: [] };
  if (!options.replay) await viewsFromNothing(largest);
  return { replays, starts: await measureStarts(largest, rounds) };
}

async function viewsFromNothing(folder: GatewayFolder): Promise<ReplaySample['replay']> {
  folder.forgetViews();
  const ready = await folder.start();
  await folder.stop();
  return ready;
}

async function measureStarts(folder: GatewayFolder, rounds: number): Promise<StartSample[]> {
  const commands = [
    [HELP],
    ['account', 'show', firstAccount],
    ['account', 'usage', firstAccount],
    ['account', 'list', '--json'],
    ['ledger', 'events', firstAccount],
    ['credits', 'grant', firstAccount, '--usd', '1'],
  ];
  const samples: StartSample[] = [];
  for (let round = 0; round < rounds; round++) {
    samples.push({ what: START_OF_GATEWAY, ...(await folder.start()) });
    for (const words of commands) samples.push({ what: words.join(' '), ...(await folder.run(...words)) });
    await folder.stop();
  }
  return samples;
}
