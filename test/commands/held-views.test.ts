import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { viewFilesOf } from '../../projections/view-files.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';

it('a gateway whose views another process has for itself says that, and nothing of the disk', async () => {
  const gateway = await startTestGateway();
  await gateway.stop();
  const holder = new DatabaseSync(viewFilesOf(gateway.data).live);
  try {
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE written SET writes = writes; COMMIT');
    const config = join(gateway.data, 'gateway.json');
    const { exitCode, stderr } = await runProgram('serve', '--config', config, '--data', gateway.data);
    // Behind what the log says of the folder.
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(
      'gateway: database is locked: another process has a file of the data folder for itself; run it again once that has ended',
    );
    expect(exitCode).toBe(4);
  } finally {
    holder.close();
  }
});
