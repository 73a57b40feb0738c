import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { longRun, say } from '../fixtures/processes/long-run.ts';
import { optionsOf } from '../run-options.ts';
import { fleetUpgrade, type UpgradeStep } from './fleet-upgrade.ts';
import { servedBehindNewerEvents } from './newer-events.ts';
import { OLD_COMMIT, oldTree } from './program-trees.ts';

/**
 * `npm run upgrade`: three proxies of an older commit are upgraded to a program with one form of events more, rolled back,
 * and upgraded again, under load. Prints a line a step, and ends with 1 at the first that is not as it should be.
 */
const MS_MAX = 15 * 60_000;
optionsOf('npm run upgrade', () => parseArgs({ options: {} }));
await longRun({ name: 'upgrade', replay: 'npm run upgrade', msMax: MS_MAX }, async (folder) => {
  const old = oldTree(join(folder, 'old'));
  if (old === null)
    return say(`skipped: this clone's history lacks the commit ${OLD_COMMIT}, whose program is the older one`);
  say('step                                  programs        sent  refused  debits by version');
  await fleetUpgrade({ folder, old }, report);
  say('nothing refused, every request billed once, the new form only after its adoption');
  const faults = await servedBehindNewerEvents(folder);
  if (faults === null) return say("skipped: this clone's history lacks a program of before there were seals");
  if (faults.length > 0) throw new Error(`a folder with seals and a reconciliation in it:\n${faults.join('\n')}`);
  say('a program of before serves and writes a folder that has seals and a reconciliation in it');
});

function report({ what, programs, sent, refused, debits, faults }: UpgradeStep): void {
  const counts = Object.entries(debits).map(([version, count]) => `${version}: ${count}`);
  say(
    `${what.padEnd(38)}${programs.padEnd(15)}${String(sent).padStart(5)}${String(refused).padStart(9)}  ${counts.join(', ')}`,
  );
  if (faults.length > 0) throw new Error(`${what}:\n${faults.slice(0, 20).join('\n')}`);
}
