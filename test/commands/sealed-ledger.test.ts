import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { BASE_FORMS } from '../../contracts/event-forms.ts';
import { accountId, accountStream, eventId, NO_STREAM, revision } from '../../contracts/ids.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { keyOfFolder } from '../../ledger/seals/seal-keys.ts';
import { Sealer } from '../../ledger/seals/sealer.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { untilSealed } from '../fixtures/ledger/until-sealed.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ACCOUNT = accountStream(accountId('acct_1'));
const NEVER_MS = 1_000_000_000;
/** What others may have written is among them: line ends, white space around, what is no object. */
const TEXTS = ['{"note":"Zoë"}', '{"a":\n1}', '{"a":1} ', '{"a":"\u2028"}', '[1]', '{}'];
const idAt = (at: number) => eventId(`01890a5d-ac96-7abc-bcce-${String(at).padStart(12, '0')}`);

/** An embedded ledger that the sealer has sealed: events 0 to 3, and, by the next key, 4 to 7; one is unsealed. */
async function sealedLedger() {
  const program = endedLater(await programInProcess());
  const { log } = program;
  const data = dirname(program.file);
  const nowMs = Date.now();
  await identifyLedger(log, nowMs, recordingBy('test', nowMs), BASE_FORMS);
  const write = async (from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at++) {
      const proposed = {
        id: idAt(at),
        type: 'CreditsGranted',
        data: TEXTS[at % TEXTS.length] ?? '',
        metadata: '{"v": 1}',
      };
      await log.append(ACCOUNT, at === 0 ? NO_STREAM : revision(at - 1), [proposed]);
    }
  };
  const sealer = endedLater(
    new Sealer({
      ...{ log, dataFolder: data, key: () => keyOfFolder(data).key, events: 4, afterMs: NEVER_MS, copyTo: null },
      ...{ clock: Date.now, mayWrite: () => true, replaceLost: '', logger: pino({ level: 'silent' }) },
    }),
  );
  sealer.start();
  await write(0, 3);
  await untilSealed(log, 1, 4);
  await program.run('ledger', 'keys', 'rotate');
  await write(3, 8);
  await untilSealed(log, 2);
  await sealer.close();
  const folder = temporaryFolder();
  const out = join(folder, 'proof');
  await program.run('ledger', 'export', '--format', 'ndjson', '--out', out);
  return { program, folder, out, file: join(data, 'ledger.db') };
}

/** The folder's own verifier, by a Node that is given nothing else. */
const verified = (folder: string, ...args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['verify-export.mjs', '.', ...args],
      { cwd: folder },
      (_, stdout, stderr) => resolve(`${child.exitCode}\n${stdout}${stderr}`),
    );
  });

it('what the sealer has sealed is consistent to the exported verifier, to verify --seals and to proofs', async () => {
  const { program, folder, out, file } = await sealedLedger();
  const keys = join(folder, 'keys.json');
  writeFileSync(keys, await program.run('--json', 'ledger', 'keys'));
  expect(JSON.parse(readFileSync(keys, 'utf8')).keys).toHaveLength(2);
  const holds = '0\nevents 9, sealed 8, anchored 0, unsealed 1\nconsistent, not anchored\n';
  expect(await verified(out)).toBe(holds);
  expect(await verified(out, '--keys', keys)).toBe(holds);
  expect(await verified(out, '--anchor', 'seals.ndjson')).toContain('\nanchored\n');
  const said = await program.json('ledger', 'verify', '--seals', '--keys', keys);
  expect(said).toMatchObject({ verdict: 'consistent, not anchored', faults: [], events: 9, seals: 2, sealed: 8 });
  const offline = await runHere('--json', 'ledger', 'verify', '--seals', '--keys', keys, '--offline', file);
  expect(JSON.parse(offline.stdout)).toEqual(said);
  const proved = await runHere('ledger', 'prove', idAt(1), '--offline', file);
  expect(proved.stdout).toBe(await program.run('ledger', 'prove', idAt(1)));
  for (let at = 0; at < 7; at++) {
    const proof = join(folder, `${at}.json`);
    writeFileSync(proof, await program.run('ledger', 'prove', idAt(at), '--since', '0'));
    expect(await program.run('ledger', 'check-proof', proof, '--keys', keys)).toContain('verdict  holds, not anchored');
  }
});

it('one byte changed, in the folder or in the ledger, is told by all of them, with the seal', async () => {
  const { program, out, file } = await sealedLedger();
  const events = join(out, 'events.ndjson');
  writeFileSync(events, readFileSync(events, 'utf8').replace('[1]', '[2]'));
  const fault = 'seal 1 (events 4 to 7):';
  expect(await verified(out)).toBe(
    `5\n${fault} its events are not those that were sealed\nevents 9, sealed 8, anchored 0, unsealed 1\ndamaged\n`,
  );
  editFile(file, (database) => database.exec(`UPDATE event SET data = '[2]' WHERE data = '[1]'`));
  const refused = { exitCode: EXIT.faults, message: expect.stringContaining(fault) };
  await expect(program.run('ledger', 'verify', '--seals')).rejects.toMatchObject(refused);
  const offline = await runHere('ledger', 'verify', '--seals', '--offline', file);
  expect(offline).toMatchObject({ exitCode: EXIT.faults, stderr: expect.stringContaining(fault) });
  await expect(program.run('ledger', 'prove', idAt(4))).rejects.toThrow('the ledger is not as it was sealed');
});
