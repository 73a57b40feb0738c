import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { NO_STREAM, revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { hexOf, sha256 } from '../../ledger/seals/merkle.ts';
import { rotateSealKey } from '../../ledger/seals/rotate-key.ts';
import {
  introductionOf,
  keyOfFolder,
  nextKeyOfFolder,
  sealKeyFile,
  takeNextKey,
} from '../../ledger/seals/seal-keys.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import { sealLog } from '../fixtures/ledger/seal-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

let program: ProgramInProcess;
let data: string;
beforeEach(async () => {
  program = endedLater(await programInProcess());
  data = join(program.file, '..');
});

it('gateway ledger keys rotate makes the next key of the embedded ledger, for which the one before vouches', async () => {
  const before = keyOfFolder(data).key;
  expect(await program.run('ledger', 'keys')).toMatch(/^no key has been introduced/);
  const { keyId } = await program.json('ledger', 'keys', 'rotate');
  expect(keyOfFolder(data).key.keyId).toBe(keyId);
  expect(statSync(join(data, 'seal-key')).mode & 0o777).toBe(0o600);
  expect(existsSync(join(data, 'seal-key.next'))).toBe(false);
  const { keys } = (await program.json('ledger', 'keys')) as { keys: { validFrom: string }[] };
  expect(keys).toMatchObject([
    { keyId: before.keyId, publicKey: before.publicKey, introducedBy: null, validUntil: keys[1]?.validFrom },
    { keyId, introducedBy: before.keyId, validUntil: null },
  ]);
  expect(program.warned).toBe('');
});

it('gateway ledger keys rotate goes on with the key that it was interrupted with', async () => {
  const before = keyOfFolder(data).key;
  const next = nextKeyOfFolder(data);
  const recording = recordingBy('operator', Date.now());
  await rotateSealKey(program.log, { from: before, to: next, recording });
  expect(await program.json('ledger', 'keys', 'rotate')).toMatchObject({ keyId: next.keyId, isNew: false });
  expect(keyOfFolder(data).key.keyId).toBe(next.keyId);
  expect((await Array.fromAsync(program.log.readStream(SEALS_STREAM))).length).toBe(2);
});

it('gateway ledger keys rotate refuses a key that another has followed and sealed with', async () => {
  const before = sealKeyFile(data);
  const { keyId } = keyOfFolder(data).key;
  const retired = readFileSync(before);
  const { keyId: next } = await program.json('ledger', 'keys', 'rotate');
  await sealLog(program.log, data);
  writeFileSync(before, retired);
  await expect(program.run('ledger', 'keys', 'rotate')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringContaining(`sealed by the key ${next}, which has followed ${keyId}`),
  });
});

it('of several rotations at once no key is lost: each introduces the one that was made, and takes no other', () => {
  const made = keyOfFolder(data).key;
  const next = nextKeyOfFolder(data);
  expect(nextKeyOfFolder(data).keyId).toBe(next.keyId);
  takeNextKey(data, made);
  expect(keyOfFolder(data).key.keyId).toBe(made.keyId);
  takeNextKey(data, next);
  takeNextKey(data, next);
  expect([keyOfFolder(data).key.keyId, existsSync(join(data, 'seal-key.next'))]).toEqual([next.keyId, false]);
  writeFileSync(join(data, 'seal-key.next'), '');
  expect(() => nextKeyOfFolder(data)).toThrow('a rotation is making it, or was ended while it did');
});

it('gateway ledger keys rotate refuses where the key before is none of the ledger’s, unless it is said to be lost', async () => {
  await program.json('ledger', 'keys', 'rotate');
  rmSync(join(data, 'seal-key'));
  await expect(program.run('ledger', 'keys', 'rotate')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringContaining('put it back'),
  });
  expect(existsSync(join(data, 'seal-key'))).toBe(false);
  keyOfFolder(data);
  await expect(program.run('ledger', 'keys', 'rotate')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringContaining('the ledger knows no key'),
  });
  rmSync(join(data, 'seal-key'));
  const { keyId } = await program.json('ledger', 'keys', 'rotate', '--lost');
  const { keys } = (await program.json('ledger', 'keys')) as { keys: object[] };
  expect(keys.at(-1)).toMatchObject({ keyId, introducedBy: null });
});

it('gateway ledger keys rotate before the first seal leaves a ledger whose seals nobody has taken out; no key of it is lost', async () => {
  await expect(program.run('ledger', 'keys', 'rotate', '--lost')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringContaining('knows no key'),
  });
  expect(existsSync(join(data, 'seal-key.next'))).toBe(false);
  await program.json('ledger', 'keys', 'rotate');
  await program.json('ledger', 'keys', 'rotate');
  const keys = join(data, 'keys.json');
  writeFileSync(keys, await program.run('ledger', 'keys', '--json'));
  const verdict = await program.json('ledger', 'verify', '--seals', '--keys', keys);
  expect(verdict).toMatchObject({ verdict: 'nothing is sealed', faults: [] });
});

it('gateway ledger keys warns of a key for which nobody vouches as it says', async () => {
  const own = keyOfFolder(data).key;
  const introduced = {
    ...introductionOf(own, null, '2026-11-23T10:00:00.000Z'),
    signature: own.sign('something else'),
  };
  const events = encodeEvents([{ type: 'SealKeyIntroduced', data: introduced }], recordingBy('test', Date.now()));
  await program.log.append(SEALS_STREAM, NO_STREAM, events);
  await program.run('ledger', 'keys');
  expect(program.warned).toContain(`${own.keyId} is not introduced by itself, as it says`);
});

it('gateway ledger seal-digest prints the SHA-256 of the newest seal as it is stored', async () => {
  await expect(program.run('ledger', 'seal-digest')).rejects.toMatchObject({ exitCode: EXIT.refused });
  const recording = recordingBy('test', Date.now());
  const [sealed, key] = encodeEvents([exampleOf('LedgerSealed'), exampleOf('SealKeyIntroduced')], recording);
  if (sealed === undefined || key === undefined) throw new Error('nothing was encoded');
  await program.log.append(SEALS_STREAM, NO_STREAM, [sealed]);
  await program.log.append(SEALS_STREAM, revision(0), [key]);
  expect(await program.json('ledger', 'seal-digest')).toMatchObject({ seal: 1, sha256: hexOf(sha256(sealed.data)) });
  expect(await program.run('ledger', 'seal-digest')).toContain(hexOf(sha256(sealed.data)));
});
