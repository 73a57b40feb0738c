import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { revision, type StreamName } from '../../../contracts/ids.ts';
import { logOf, newTestKey, type Row, sealed, sealsIn } from '../../fixtures/ledger/sealed-rows.ts';
import { programInProcess } from '../../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const VERIFIER = join(import.meta.dirname, '../../../ledger/seals/verify-export.mjs');
const key = newTestKey();
const idOf = (index: number): string => `01890a5d-ac96-7abc-bcce-${String(index).padStart(12, '0')}`;
const texts = ['{"by":"Zoë 🙂 \\" } ]"}', '{ "line":\n1}', 'no JSON', '{"a":[1,{"b":"}"}],"n":1.50}', '"text"', '{}'];
/** What others may have written is among them: a line break, white space, what is no JSON or no object. */
const rows = sealed(
  Array.from({ length: 12 }, (_, index): Row => {
    const place = { stream: 'account-acct_1' as StreamName, revision: revision(index), id: idOf(index) as Row['id'] };
    return { ...place, type: 'CreditsGranted', data: texts[index % texts.length] ?? '', metadata: '{"v": 1}' };
  }),
  { key, every: 5 },
);
const seals = sealsIn(rows);

const folder = temporaryFolder();
function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}
const { keyId, publicKey } = key;
const keysOf = (known: object): string =>
  JSON.stringify({ keys: [{ ...known, validFrom: '2026-01-01T00:00:00.000Z' }] });
const keys = file('own-keys.json', keysOf({ keyId, publicKey }));
const anchor = file('anchor.ndjson', seals.map((seal) => `${JSON.stringify(seal)}\n`).join(''));

/** In a process of its own, by a Node that is given nothing but the file. */
const verified = (...args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [VERIFIER, ...args], (_, stdout, stderr) =>
      resolve(`${child.exitCode}\n${stdout}${stderr}`),
    );
  });

async function exported(): Promise<string> {
  const out = join(temporaryFolder(), 'export');
  await (await programInProcess(logOf(rows))).run('ledger', 'export', '--format', 'ndjson', '--out', out);
  return out;
}

/** An exported folder with one of its files changed. */
async function changed(name: string, how: (lines: string[]) => string[]): Promise<string> {
  const out = await exported();
  const path = join(out, name);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  writeFileSync(path, `${how(lines).join('\n')}\n`);
  return out;
}

test('an exported ledger holds, and is anchored by seals from elsewhere', async () => {
  const out = await exported();
  const [alone, anchored, byKeys] = await Promise.all([
    verified(out),
    verified(out, '--anchor', anchor),
    verified(out, '--keys', keys),
  ]);
  expect(alone).toBe('0\nevents 12, sealed 10, anchored 0, unsealed 2\nconsistent, not anchored\n');
  expect(anchored).toBe('0\nevents 12, sealed 10, anchored 10, unsealed 2\nanchored\n');
  expect(byKeys).toBe(alone);
});

test.each<[string, string, (lines: string[]) => string[], string]>([
  [
    'a byte of data',
    'events.ndjson',
    (lines) => lines.with(0, (lines[0] ?? '').replace('Zoë', 'Zoe')),
    'seal 0 (events 0 to 4): its events are',
  ],
  [
    'white space',
    'events.ndjson',
    (lines) => lines.with(6, (lines[6] ?? '').replace('{"v": 1}', '{"v":1}')),
    'seal 1 ',
  ],
  ['an event taken out', 'events.ndjson', (lines) => lines.toSpliced(6, 1), 'seal 1 '],
  ['two swapped', 'events.ndjson', (lines) => lines.with(2, lines[3] ?? '').with(3, lines[2] ?? ''), 'seal 0 '],
  [
    'the tail cut',
    'events.ndjson',
    (lines) => lines.slice(0, 8),
    'seal 1 (events 5 to 9): there are 8 events: the tail',
  ],
  [
    'events and seals cut',
    'seals.ndjson',
    (lines) => lines.slice(0, 2),
    'anchor, seal 1 (10 events): its events are there',
  ],
  [
    'a seal changed',
    'seals.ndjson',
    (lines) => lines.with(1, (lines[1] ?? '').replace('31.001Z', '31.002Z')),
    'seal 0 ',
  ],
  [
    'a seal taken out',
    'seals.ndjson',
    (lines) => lines.toSpliced(1, 1),
    'the stream of seals goes from revision 0 to 2',
  ],
])('does not hold: %s', async (_, name, how, fault) => {
  const said = await verified(await changed(name, how), '--anchor', anchor);
  expect(said.slice(0, 2 + fault.length)).toBe(`5\n${fault}`);
  expect(said).toMatch(/\ndamaged\n$/);
});

test('a stranger’s keys, and a whole ledger written anew with the real key', async () => {
  const { keyId, publicKey } = newTestKey();
  const strange = file('strange.json', keysOf({ keyId, publicKey }));
  const other = sealed(
    rows.map((row) => ({ ...row, data: row.data.replace('Zoë', 'Zoe') })),
    { key, every: 5 },
  );
  const elsewhere = file('other.ndjson', JSON.stringify(sealsIn(other)[1]));
  const out = await exported();
  const [byStrange, anew] = await Promise.all([verified(out, '--keys', strange), verified(out, '--anchor', elsewhere)]);
  expect(byStrange).toContain('introduces itself, and is none of those given');
  expect(byStrange).toContain(`is signed by ${key.keyId}, which is no known key`);
  expect(anew).toBe(
    '5\nanchor, seal 1 (10 events): its events are others: they were written anew\n' +
      'events 12, sealed 10, anchored 0, unsealed 2\ndamaged\n',
  );
});

test('a proof holds, and one that was changed does not', async () => {
  const program = await programInProcess(logOf(rows));
  const proof = JSON.parse(await program.run('ledger', 'prove', idOf(6), '--since', '0'));
  const check = (name: string, changed: object): Promise<string> =>
    verified('--proof', file(name, JSON.stringify({ ...proof, ...changed })), '--keys', keys, '--anchor', anchor);
  const zero = '0'.repeat(64);
  const [own, event, path, since, bare] = await Promise.all([
    check('own.json', {}),
    check('event.json', { inclusion: { ...proof.inclusion, event: { ...proof.inclusion.event, data: '{}' } } }),
    check('path.json', { consistency: { ...proof.consistency, path: proof.consistency.path.with(0, zero) } }),
    check('since.json', { consistency: { ...proof.consistency, since: { ...seals[0], treeRoot: zero } } }),
    verified(),
  ]);
  expect(own).toBe(
    `0\nseal 1 covers event 6: account-acct_1 revision 6, CreditsGranted ${idOf(6)}\n` +
      'seal 1 covers all that seal 0 covers\nholds, anchored\n',
  );
  expect(event).toBe(`5\nevent ${idOf(6)} does not stand in seal 1\ndoes not hold\n`);
  expect(path).toBe('5\nseal 0 is not the beginning of seal 1\ndoes not hold\n');
  expect(since).toContain('has a signature that is not of its key');
  expect(bare).toBe('2\nverify-export: name a folder, or --proof FILE --keys FILE\n');
});
