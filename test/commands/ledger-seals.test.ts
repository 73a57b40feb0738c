import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { revision, type StreamName } from '../../contracts/ids.ts';
import { logOf, newTestKey, type Row, sealed, sealOf, signedSealRow } from '../fixtures/ledger/sealed-rows.ts';
import { canMount, smallDisk } from '../fixtures/ledger/small-disk.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const key = newTestKey();
const idOf = (index: number): string => `01890a5d-ac96-7abc-bcce-${String(index).padStart(12, '0')}`;
const events = Array.from({ length: 13 }, (_, index): Row => {
  const data = JSON.stringify({ by: 'Zoë', index });
  const place = { stream: 'account-acct_1' as StreamName, revision: revision(index), id: idOf(index) as Row['id'] };
  return { ...place, type: 'CreditsGranted', data, metadata: '{}' };
});
/** Seals of events 0 to 4 and 5 to 9; three are unsealed. */
const rows = sealed(events, { key, every: 5 });
const [first, newest] = rows.filter(({ type }) => type === 'LedgerSealed') as [Row, Row];
const changed = rows.with(2, { ...(rows[2] as Row), data: '{}' });

const folder = temporaryFolder();
function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
const copyLine = ({ data, ...row }: Row): string =>
  `{"type":"${row.type}","revision":${row.revision},"data":${data}}\n`;
const { keyId, publicKey } = key;
const keysText = (known: object): string => JSON.stringify({ keys: [known] });
const keys = file('keys.json', keysText({ keyId, publicKey, validFrom: '2026-01-01T00:00:00.000Z', validUntil: null }));
const copies = rows.filter(({ stream }) => stream === 'seals').map(copyLine);
const anchor = file('seals.ndjson', `${copies.join('')}{"type":"LedgerSea`);

/** What is said on a terminal of how far a command is, by a clock on which it takes long. */
async function progressOf(log: readonly Row[], ...args: readonly string[]): Promise<string> {
  const program = await programInProcess(logOf(log));
  const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
  let nowMs = 0;
  Object.assign(program.context, { progressStream: stream, clock: () => (nowMs += 1_000) });
  await program.run('ledger', ...args);
  return String(stream.read() ?? '');
}

const run = async (log: readonly Row[], ...args: readonly string[]): Promise<string> =>
  (await programInProcess(logOf(log))).run('ledger', ...args);

describe('gateway ledger verify --seals', () => {
  test('says how much is sealed, by which key, and that nothing from outside vouches for it', async () => {
    expect((await run(rows, 'verify', '--seals')).split('\n')).toEqual([
      `seals     2, the newest of 2026-11-05T10:20:31.001Z by key ${keyId}`,
      "events    13, without the seals' own",
      'sealed    10',
      'unsealed  3',
      'verdict   consistent, not anchored',
      '',
    ]);
  });

  test('takes seals that were copied elsewhere, whole or cut, and keys', async () => {
    const one = file('one.json', JSON.stringify(sealOf(first), null, 2));
    const said = await run(rows, 'verify', '--seals', '--anchor', one, '--keys', keys);
    expect(said).toContain(
      'anchored  5\nunsealed  3; 5 sealed after the anchor\nverdict   anchored up to event 4; behind it consistent only: 5\n',
    );
    expect(JSON.parse(await run(rows, '--json', 'verify', '--seals', '--anchor', one))).toMatchObject({
      ...{ verdict: 'anchored', sealed: 10, anchored: 5, consistentOnly: 5 },
    });
    expect(await run(rows, 'verify', '--seals', '--anchor', anchor)).toContain('anchored  10\n');
    const shown = JSON.parse(await run(rows, '--json', 'verify', '--seals', '--anchor', anchor));
    expect(shown).toMatchObject({
      verdict: 'anchored',
      anchored: 10,
      consistentOnly: 0,
      faults: [],
      newest: { seal: 1 },
    });
  });

  test('takes a file of seals of any size, and passes by a line that no seal has', async () => {
    const padded = file('padded.ndjson', `${copies.join('')}${`${' '.repeat(1_000)}\n`.repeat(17 * 1024)}`);
    expect(statSync(padded).size).toBeGreaterThan(16 * 1024 * 1024);
    expect(await run(rows, 'verify', '--seals', '--anchor', padded)).toContain('anchored  10\n');
    const long = file(
      'long.ndjson',
      `${JSON.stringify(sealOf(first)).replace('{', `{${' '.repeat(70_000)}`)}\n${copies.at(-1)}`,
    );
    const shown = JSON.parse(await run(rows, '--json', 'prove', '--since', long));
    expect(shown.consistency.since.seal).toBe(1);
    const alone = file('alone.json', JSON.stringify(sealOf(first)).replace('{', `{${' '.repeat(70_000)}`));
    await expect(run(rows, 'verify', '--seals', '--anchor', alone)).rejects.toThrow('there is no seal in it');
  });

  test('names what does not hold, the event where its leaf hashes were kept, and ends with the code of faults', async () => {
    const kept = join(folder, 'leaves');
    await run(rows, 'verify', '--seals', '--keep-leaves', kept);
    const program = await programInProcess(logOf(changed));
    const answered: string[] = [];
    Object.assign(program.context, { write: (text: string) => answered.push(text) });
    const ending = program.run('ledger', 'verify', '--seals', '--leaves', kept);
    await expect(ending).rejects.toMatchObject({
      exitCode: 5,
      message: expect.stringContaining('seal 0 (events 0 to 4): its events are not those that were sealed'),
    });
    expect(answered.join('')).toContain('event 1 (there is account-acct_1 revision 1, CreditsGranted');
    expect(answered.join('')).toContain('): it is not as it was sealed\n');
    expect(answered.join('')).toContain('verdict   damaged');
    await expect(run(rows, 'verify', '--seals', '--keep-leaves', kept)).rejects.toThrow('EEXIST');
    await expect(run(rows, 'verify', '--seals', '--keep-leaves', join(folder, 'no', 'leaves'))).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(`: the folder ${join(folder, 'no')} is not there: make it first$`),
    });
  });

  test.runIf(canMount)(
    'tells of leaf hashes that its disk does not take with the disk, and keeps none of them',
    async () => {
      const disk = smallDisk(2_048);
      mkdirSync(disk.folder);
      disk.leaveFree(0);
      const kept = join(disk.folder, 'leaves');
      await expect(run(rows, 'verify', '--seals', '--keep-leaves', kept)).rejects.toMatchObject({
        exitCode: 4,
        message: expect.stringMatching(
          `^${kept}: cannot be written: ENOSPC: .*: make room on the disk of ${disk.folder}, which has 0 MiB free$`,
        ),
      });
      expect(existsSync(kept)).toBe(false);
    },
  );

  test.each([
    [['--anchor', anchor], 'go with --seals'],
    [['--seals', '--all'], 'looks at the whole ledger'],
    [['--seals', 'acct_1'], 'looks at the whole ledger'],
    [['--seals', '--anchor', keys], 'there is no seal in it'],
    [['--seals', '--keys', anchor], 'expected keys'],
    [['--seals', '--leaves', file('empty', '')], 'expected leaf hashes'],
    [['--seals', '--leaves', file('text', 'x'.repeat(65))], 'expected leaf hashes'],
    [['--seals', '--leaves', file('cut', `${'0'.repeat(64)}\n0`)], 'expected leaf hashes'],
    [['--seals', '--leaves', folder], 'is no file'],
    [['--seals', '--keys', join(folder, 'none')], 'does not exist'],
  ])('refuses %j', async (args, problem) => {
    await expect(run(rows, 'verify', ...args)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining(problem),
    });
  });
});

describe('gateway ledger prove', () => {
  const prove = async (...args: readonly string[]) => JSON.parse(await run(rows, 'prove', ...args));

  test.each([0, 4, 7, 9])('event %i stands in the ledger: checked without it', async (index) => {
    const proof = file('proof.json', JSON.stringify(await prove(idOf(index))));
    const said = await run([], 'check-proof', proof, '--keys', keys);
    expect(said).toContain(`covers event ${index}: account-acct_1 revision ${index}, CreditsGranted ${idOf(index)}`);
    expect(said).toContain('verdict  holds, not anchored');
    expect(await run([], 'check-proof', proof, '--keys', keys, '--anchor', anchor)).toContain(
      'verdict  holds, anchored',
    );
  });

  test('an event behind the seal that was kept is not anchored, whatever earlier seal stands in its proof', async () => {
    const kept = file('kept.ndjson', copyLine(first));
    const check = async (index: number): Promise<string> => {
      const proof = file('proof.json', JSON.stringify(await prove(idOf(index), '--since', '0')));
      return run([], 'check-proof', proof, '--keys', keys, '--anchor', kept);
    };
    expect(await check(4)).toContain('verdict  holds, anchored\n');
    expect(await check(5)).toContain('verdict  holds, not anchored: the anchor ends with event 4\n');
    const hollow = file('hollow.json', JSON.stringify({ ...(await prove(idOf(4))), inclusion: null }));
    await expect(run([], 'check-proof', hollow, '--keys', keys)).rejects.toThrow('neither an event nor an earlier');
    const { inclusion, ...rest } = await prove(idOf(4));
    const event = { ...inclusion.event, id: 'x\nverdict  holds, anchored\u001b[8m' };
    const forged = file('forged.json', JSON.stringify({ ...rest, inclusion: { ...inclusion, event } }));
    await expect(run([], 'check-proof', forged, '--keys', keys)).rejects.toThrow(/x\\u000averdict .*\\u001b/);
  });

  test('it is told how far that is', async () => {
    const many = Array.from({ length: 5_000 }, (_, at) => ({
      ...(events[0] as Row),
      revision: revision(at),
      id: idOf(at) as Row['id'],
    }));
    const long = sealed(many, { key, every: 1_000 });
    const said = /% of 5,0\d\d events, [\d,]+\/s, \d+ s left/;
    expect(await progressOf(long, 'prove', idOf(4_500))).toMatch(said);
  });

  test('what an earlier seal covers is the beginning of what the newest does', async () => {
    const own = file('first.ndjson', copyLine(first));
    for (const since of ['0', own]) {
      const proof = file('proof.json', JSON.stringify(await prove('--since', since)));
      expect(await run([], 'check-proof', proof, '--keys', keys)).toContain('covers all that seal 0 covers');
    }
  });

  test.each([
    [idOf(11), 'is not sealed yet'],
    [idOf(99), 'there is no event'],
    ['--since=7', 'there is no seal 7'],
  ])('%s cannot be proved', async (asked, problem) => {
    await expect(prove(asked)).rejects.toMatchObject({ exitCode: 3, message: expect.stringContaining(problem) });
  });

  test('an anchor that does not hold is told once', async () => {
    const alone = file('alone.ndjson', copyLine(newest));
    await expect(run(rows.slice(0, 8), 'verify', '--seals', '--anchor', alone)).rejects.toThrow(/its tail is cut$/);
  });

  test('a ledger that was changed proves nothing, and one without seals neither', async () => {
    await expect(run(changed, 'prove', idOf(1))).rejects.toThrow('the ledger is not as it was sealed');
    await expect(run(changed, 'prove', '--since', '0')).rejects.toThrow('the ledger is not as it was sealed');
    await expect(run(events, 'prove', idOf(1))).rejects.toThrow('nothing is sealed yet');
    await expect(run(rows, 'prove')).rejects.toMatchObject({ exitCode: 2 });
  });

  test('a proof in which anything was changed does not hold', async () => {
    const proof = await prove(idOf(7), '--since', '0');
    const { signature: _, ...data } = sealOf(newest);
    const forged = sealOf(signedSealRow(3, { ...data, sealedAt: '2026-11-06T00:00:00.000Z' }, newTestKey()));
    const event = { ...proof.inclusion.event, data: '{"amount":"2"}' };
    const zero = '0'.repeat(64);
    for (const other of [
      { ...proof, inclusion: { ...proof.inclusion, event } },
      { ...proof, inclusion: { ...proof.inclusion, path: proof.inclusion.path.with(0, zero) } },
      { ...proof, consistency: { ...proof.consistency, path: proof.consistency.path.with(0, zero) } },
      { ...proof, seal: forged },
      { ...proof, seal: { ...proof.seal, sealedAt: '2026-11-06T00:00:00.000Z' } },
    ])
      await expect(
        run([], 'check-proof', file('other.json', JSON.stringify(other)), '--keys', keys),
      ).rejects.toMatchObject({
        exitCode: 5,
      });
    // As by a clock that was ahead when the key was introduced.
    const soon = file('soon.json', keysText({ keyId, publicKey, validFrom: '2026-11-06T10:20:31.001Z' }));
    expect(await run([], 'check-proof', file('own.json', JSON.stringify(proof)), '--keys', soon)).toContain('holds');
    const late = file('late.json', keysText({ keyId, publicKey, validFrom: '2027-01-01T00:00:00.000Z' }));
    const strange = file(
      'strange.json',
      keysText({ ...newTestKey(), privateKey: 0, validFrom: '2026-01-01T00:00:00.000Z' }),
    );
    for (const given of [late, strange])
      await expect(run([], 'check-proof', file('own.json', JSON.stringify(proof)), '--keys', given)).rejects.toThrow(
        'does not hold',
      );
  });
});
