import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';
import { BLOCKS, SQL } from './auditors-guide.ts';
import { makeAuditorsLedger, providersReport } from './auditors-ledger.ts';

/** Programs of others that a line begins with, or goes on with behind a pipe. */
const toolsOf = (block: string): string[] => {
  const named = [...block.replaceAll(SQL, '').matchAll(/(?:^|\| )([a-z][\w-]*)(?= )/gm)].map(([, tool = '']) => tool);
  return [...new Set(named)].filter((tool) => tool !== 'gateway' && tool !== 'duckdb');
};
const isInstalled = (tool: string): boolean => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

const { folder } = readKept('76ed563', 'sqlite', 'ledger');
const workingFolder = temporaryFolder();
const DUCKDB_SHELL = fileURLToPath(new URL('../fixtures/processes/duckdb-shell.ts', import.meta.url));

/** As a shell does; a block that is nothing but commands of ours is carried out here, which is quicker. */
async function run(block: string): Promise<void> {
  const lines = block.trimEnd().split('\n');
  if (lines.every((line) => /^gateway [^|>$]+$/.test(line))) {
    for (const line of lines) {
      const [, ...args] = line.replace(/\s+#.*$/, '').split(' ');
      expect(await runHere('--data', `${folder}/data`, ...args)).toMatchObject({ exitCode: 0, stderr: '' });
    }
    return;
  }
  const gateway = `gateway() { "${process.execPath}" "${GATEWAY_PROGRAM}" --data "${folder}/data" "$@"; }\n`;
  const duckdb = isInstalled('duckdb') ? '' : `duckdb() { "${process.execPath}" "${DUCKDB_SHELL}" "$@"; }\n`;
  const ran = await promisify(execFile)('sh', ['-e', '-c', gateway + duckdb + block], { cwd: workingFolder });
  expect(ran.stderr).toBe('');
}

beforeAll(async () => {
  const data = `${folder}/data`;
  await makeAuditorsLedger(data);
  const log = await openSqliteEventLog({ path: `${data}/ledger.db` });
  writeFileSync(join(workingFolder, 'usage.csv'), await providersReport(log));
  await log.close();
});

it('has blocks to run', () => {
  expect(BLOCKS.length).toBeGreaterThan(8);
});

it('is tried on a ledger in which there is no fault', async () => {
  const verified = await runHere('--data', `${folder}/data`, 'ledger', 'verify', '--all');
  expect(verified).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(
      /^\d+ events, those of the catalog, the seals and the ledger itself among them, of 5 accounts: no fault$/m,
    ),
  });
});

for (const [at, block] of BLOCKS.entries()) {
  const missing = toolsOf(block).filter((tool) => !isInstalled(tool));
  const title = `block ${at + 1} of the auditor's guide does what it says`;
  it.skipIf(missing.length > 0)(missing.length > 0 ? `${title} (needs ${missing.join(', ')})` : title, () =>
    run(block),
  );
}

/** The steps that name a month can be taken again for another, in the same folder. */
it.skipIf(!isInstalled('hledger') || !isInstalled('jq'))(
  'what is said of a month holds for the one before, too',
  async () => {
    const october = BLOCKS.filter((block) => block.includes('gateway ledger report'))
      .join('')
      .replaceAll('2026-11-30', '2026-10-31')
      .replaceAll('2026-11', '2026-10')
      .replaceAll('2026-12', '2026-11')
      .replaceAll('acct_ada', 'acme');
    await run(october);
    expect(readFileSync(join(workingFolder, 'bills.csv'), 'utf8')).toBe('acme,450,89550\n');
  },
);
