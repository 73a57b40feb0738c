import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import pino from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { keyOfFolder } from '../../ledger/seals/seal-keys.ts';
import { Sealer } from '../../ledger/seals/sealer.ts';
import { untilSealed } from '../fixtures/ledger/until-sealed.ts';
import { GATEWAY_PROGRAM } from '../fixtures/processes/gateway-command.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { READMES } from '../source-files.ts';
import { readKept } from '../written-before/kept-state.ts';

/** The blocks of the guide, in their order: later ones have what earlier ones have written. */
const BLOCKS = [...(READMES.get('ledger/README.md') ?? '').matchAll(/^```sh auditor\n([\s\S]*?)^```$/gm)].map(
  ([, block = '']) => block,
);
/** Programs of others that a line begins with, or goes on with behind a pipe. */
const toolsOf = (block: string): string[] => {
  const named = [...block.matchAll(/(?:^|\| )([a-z][\w-]*)(?= )/gm)].map(([, tool = '']) => tool);
  return [...new Set(named)].filter((tool) => tool !== 'gateway');
};
const isInstalled = (tool: string): boolean => spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

const { folder } = readKept('76ed563', 'sqlite', 'ledger');
const workingFolder = temporaryFolder();

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
  const ran = await promisify(execFile)('sh', ['-e', '-c', gateway + block], { cwd: workingFolder });
  expect(ran.stderr).toBe('');
}

/** The ledger is of before there were seals. */
beforeAll(async () => {
  const data = `${folder}/data`;
  const log = await openSqliteEventLog({ path: `${data}/ledger.db` });
  await identifyLedger(log, Date.now(), recordingBy('test', Date.now()));
  const sealer = new Sealer({
    ...{ log, dataFolder: data, key: () => keyOfFolder(data).key, events: 10_000, afterMs: 1, copyTo: null },
    ...{ clock: Date.now, mayWrite: () => true, logger: pino({ level: 'silent' }) },
  });
  sealer.start();
  await untilSealed(log, 1);
  await sealer.close();
  await log.close();
});

it('has blocks to run', () => {
  expect(BLOCKS.length).toBeGreaterThan(1);
});

for (const [at, block] of BLOCKS.entries()) {
  const missing = toolsOf(block).filter((tool) => !isInstalled(tool));
  const title = `block ${at + 1} of the auditor's guide does what it says`;
  it.skipIf(missing.length > 0)(missing.length > 0 ? `${title} (needs ${missing.join(', ')})` : title, () =>
    run(block),
  );
}
