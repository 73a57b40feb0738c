import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { optionsOf } from '../run-options.ts';
import { fleetUpgrade, type UpgradeStep } from './fleet-upgrade.ts';
import { OLD_COMMIT, oldTree } from './program-trees.ts';

/**
 * `npm run upgrade`: three proxies of an older commit are upgraded to a program with one form of events more, rolled back,
 * and upgraded again, under load. Prints a line a step, and ends with 1 at the first that is not as it should be.
 */
const MS_MAX = 15 * 60_000;
optionsOf('npm run upgrade --', () => parseArgs({ options: {} }));
const folder = mkdtempSync(join(tmpdir(), 'gateway-upgrade-'));
// Ended from outside, it takes its processes along (child-process.ts).
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));
setTimeout(() => {
  process.stderr.write(`not done within ${MS_MAX} ms\n`);
  process.exit(1);
}, MS_MAX).unref();

const old = oldTree(join(folder, 'old'));
if (old === null) {
  process.stdout.write(
    `skipped: this clone's history lacks the commit ${OLD_COMMIT}, whose program is the older one\n`,
  );
  process.exit();
}
try {
  process.stdout.write('step                                  programs        sent  refused  debits by version\n');
  await fleetUpgrade({ folder, old }, report);
  process.stdout.write('nothing refused, every request billed once, the new form only after its adoption\n');
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
}
if (process.exitCode === 1) process.stderr.write(`\nthe folder stays: ${folder}\n`);
else rmSync(folder, { recursive: true, force: true });

function report({ what, programs, sent, refused, debits, faults }: UpgradeStep): void {
  const counts = Object.entries(debits).map(([version, count]) => `${version}: ${count}`);
  process.stdout.write(
    `${what.padEnd(38)}${programs.padEnd(15)}${String(sent).padStart(5)}${String(refused).padStart(9)}  ${counts.join(', ')}\n`,
  );
  if (faults.length > 0) throw new Error(`${what}:\n${faults.slice(0, 20).join('\n')}`);
}
