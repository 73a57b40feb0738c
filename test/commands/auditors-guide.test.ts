import { execFile, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import type { EventLog } from '../../contracts/event-log.ts';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { readKept } from '../written-before/kept-state.ts';
import { BLOCKS, SQL } from './auditors-guide.ts';

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

/** The ledger is of before there were seals. The provider's report is of what it has answered. */
beforeAll(async () => {
  const data = `${folder}/data`;
  const log = await openSqliteEventLog({ path: `${data}/ledger.db` });
  await writeProvidersReport(log, join(workingFolder, 'usage.csv'));
  await sealLog(log, data);
  await log.close();
});

async function writeProvidersReport(log: EventLog, file: string): Promise<void> {
  const rows = ['request_id,model,input_tokens,output_tokens,cache_read_input_tokens,date'];
  for await (const { type, data } of log.readAll()) {
    if (type !== 'UsageRecorded') continue;
    const { upstream, tokens, startedAt } = JSON.parse(data);
    if (upstream.requestId === null) continue;
    const { input, output, cacheRead } = tokens;
    rows.push([upstream.requestId, upstream.model, input, output, cacheRead, startedAt.slice(0, 10)].join());
  }
  writeFileSync(file, `${rows.join('\n')}\n`);
}

it('has blocks to run', () => {
  expect(BLOCKS.length).toBeGreaterThan(8);
});

for (const [at, block] of BLOCKS.entries()) {
  const missing = toolsOf(block).filter((tool) => !isInstalled(tool));
  const title = `block ${at + 1} of the auditor's guide does what it says`;
  it.skipIf(missing.length > 0)(missing.length > 0 ? `${title} (needs ${missing.join(', ')})` : title, () =>
    run(block),
  );
}
