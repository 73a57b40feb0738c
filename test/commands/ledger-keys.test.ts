import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, NO_STREAM, revision, SEALS_STREAM } from '../../contracts/ids.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { hexOf, sha256 } from '../../ledger/seals/merkle.ts';
import { rotateSealKey } from '../../ledger/seals/rotate-key.ts';
import {
  introductionOf,
  keepKeyFile,
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
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

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

describe('gateway ledger keys rotate --lost', () => {
  const lost = ['ledger', 'keys', 'rotate', '--lost'] as const;
  const own = () => join(data, 'seal-key');
  const folderWithKey = (): string => {
    const folder = temporaryFolder();
    keyOfFolder(folder);
    return folder;
  };
  const written = async () => (await Array.fromAsync(program.log.readStream(SEALS_STREAM))).length;
  beforeEach(() => {
    Object.assign(program.context, { startedWith: () => ({ config: program.file, data: undefined }) });
  });

  it('refuses where the key is there that the ledger goes on with, which then stays as it is: it can vouch for the next', async () => {
    const next = nextKeyOfFolder(data);
    const refused = async (keyId: string) => {
      const [before, events] = [readdirSync(data).sort(), await written()];
      const key = readFileSync(own());
      await expect(program.run(...lost)).rejects.toMatchObject({
        exitCode: EXIT.refused,
        message: expect.stringMatching(
          new RegExp(`${keyId} is not lost: .*: gateway ledger keys rotate --config ${program.file}$`),
        ),
      });
      expect([readdirSync(data).sort(), await written(), readFileSync(own())]).toEqual([before, events, key]);
    };
    await sealLog(program.log, data);
    await refused(keyOfFolder(data).key.keyId);
    // A rotation that was interrupted: the folder has the one before, still.
    const from = keyOfFolder(data).key;
    await rotateSealKey(program.log, { from, to: next, recording: recordingBy('operator', Date.now()) });
    await refused(from.keyId);
    await program.json('ledger', 'keys', 'rotate');
    await refused(next.keyId);
    expect(await program.json('ledger', 'verify', '--seals')).toMatchObject({ faults: [] });
    expect(program.warned).toBe('');
  });

  /** The ledger's key and another, in files of their own, and where the configuration says that the key is. */
  function keysInFiles() {
    const [key, next] = [join(data, 'own.pem'), join(data, 'next.pem')];
    renameSync(own(), key);
    keyOfFolder(data);
    renameSync(own(), next);
    const configuration = JSON.parse(readFileSync(program.file, 'utf8'));
    const named = (seals: object) => writeFileSync(program.file, JSON.stringify({ ...configuration, seals }));
    return { key, next, named };
  }

  it('refuses the same of a key that the configuration names', async () => {
    await sealLog(program.log, data);
    const { key, next, named } = keysInFiles();
    named({ keyFile: key });
    await expect(program.run(...lost, '--key-file', next)).rejects.toMatchObject({
      exitCode: EXIT.refused,
      message: expect.stringContaining('rotate --key-file FILE --config'),
    });
    // Where it is lost, the next one is named already, or the one before is none any more.
    named({ keyFile: next });
    expect(await program.json(...lost, '--key-file', next)).toMatchObject({ isNew: true });
    const third = join(data, 'third.pem');
    keyOfFolder(data);
    renameSync(own(), third);
    named({ keyFile: join(data, 'gone.pem') });
    expect(await program.json(...lost, '--key-file', third)).toMatchObject({ isNew: true });
  });

  it('refuses where the key cannot be seen: whoever may not read it, or has not the variable, has not lost it', async () => {
    await sealLog(program.log, data);
    const { key, next, named } = keysInFiles();
    const events = await written();
    const refused = async (message: RegExp) => {
      await expect(program.run(...lost, '--key-file', next)).rejects.toMatchObject({ exitCode: EXIT.refused, message });
      expect(await written()).toBe(events);
    };
    named({ keyEnv: 'SEAL_KEY_OF_TESTS' });
    await refused(/^the variable that seals\.keyEnv names is not set here .*: whether the key is lost is not known$/);
    // As what another user alone may read, also where whoever runs this may read everything: a folder has no text.
    named({ keyFile: temporaryFolder() });
    await refused(/ is a folder: whether the key is lost is not known$/);
    named({ keyFile: next });
    writeFileSync(key, 'no key');
    named({ keyFile: key });
    expect(await program.json(...lost, '--key-file', next)).toMatchObject({ isNew: true });
  });

  it('says what it costs, and the command that hands the keys out, with which the seals hold', async () => {
    await sealLog(program.log, data);
    rmSync(own());
    const { keyId, kept } = await program.json(...lost);
    expect(kept).toBeUndefined();
    const [, keys = '', verify = ''] =
      new RegExp(
        `^warning: nobody vouches for ${keyId}: .* calls the ledger damaged .*: gateway (.*) > keys.json; .*: gateway (.*)\n$`,
      ).exec(program.warned) ?? [];
    await program.log.append(
      accountStream(accountId('acct_a')),
      NO_STREAM,
      encodeEvents([exampleOf('AccountOpened')], recordingBy('test', Date.now())),
    );
    await sealLog(program.log, data);
    await expect(program.run('ledger', 'verify', '--seals')).rejects.toMatchObject({ exitCode: EXIT.faults });
    const file = join(data, 'keys.json');
    writeFileSync(file, await program.run(...keys.split(' ')));
    expect(await program.json(...verify.replace('keys.json', file).split(' '))).toMatchObject({ faults: [] });
  });

  it.each([
    ['that the ledger does not know', () => renameSync(sealKeyFile(folderWithKey()), own())],
    ['that another has followed and sealed with', (retired: string) => writeFileSync(own(), retired)],
    ['that is none', () => writeFileSync(own(), Buffer.from([0xff, 0, 0xfe]))],
  ])('keeps a file in the place of the key beside it %s', async (_, put) => {
    keyOfFolder(data);
    const retired = readFileSync(own(), 'utf8');
    await program.json('ledger', 'keys', 'rotate');
    await sealLog(program.log, data);
    put(retired);
    const [there, wasKnown] = [readFileSync(own()), await written()];
    // As one that was ended before the key took its place.
    const kept = keepKeyFile(data, nextKeyOfFolder(data));
    const { keyId, ...told } = await program.json(...lost);
    expect(told).toMatchObject({ kept, isNew: true });
    expect(kept).toBe(`${own()}.before-${keyId}`);
    expect([readFileSync(kept ?? ''), statSync(kept ?? '').mode & 0o777]).toEqual([there, 0o600]);
    expect([keyOfFolder(data).key.keyId, await written()]).toEqual([keyId, wasKnown + 1]);
  });

  it('introduces nothing where what stands there cannot be kept', async () => {
    await sealLog(program.log, data);
    writeFileSync(own(), 'another');
    const before = await written();
    writeFileSync(`${own()}.before-${nextKeyOfFolder(data).keyId}`, 'a third');
    const refusal = {
      exitCode: EXIT.refused,
      message: expect.stringContaining('is there already, and holds another key'),
    };
    await expect(program.run(...lost)).rejects.toMatchObject(refusal);
    expect([readFileSync(own(), 'utf8'), await written()]).toEqual(['another', before]);
  });
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
