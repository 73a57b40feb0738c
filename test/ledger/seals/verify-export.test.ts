import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { revision, SEALS_STREAM, type StreamName } from '../../../contracts/ids.ts';
import { otherBase64Of } from '../../fixtures/ledger/other-base64.ts';
import { introductionRow, logOf, newTestKey, type Row, sealed, sealsIn } from '../../fixtures/ledger/sealed-rows.ts';
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

async function exported(log = rows): Promise<string> {
  const out = join(temporaryFolder(), 'export');
  await (await programInProcess(logOf(log))).run('ledger', 'export', '--format', 'ndjson', '--out', out);
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
  const first = file('one.ndjson', JSON.stringify(seals[0]));
  expect(await verified(out, '--anchor', first)).toBe(
    '0\nevents 12, sealed 10, anchored 5, unsealed 2\nanchored up to event 4; behind it consistent only: 5\n',
  );
  expect(await verified(out, out)).toMatch(/^2\n/);
});

test('a ledger that a stranger has sealed in the name of a key that was given does not pass for that key’s', async () => {
  const events = rows.filter(({ stream }) => stream !== SEALS_STREAM);
  const forged = await exported(sealed(events, { key: { ...newTestKey(), keyId }, every: 5 }));
  for (const outside of [[], ['--keys', keys]])
    expect(await verified(forged, ...outside)).toMatch(`5\nkey ${keyId} has the public key of another\n`);
});

test('a key for which one vouches that nobody knows is none', async () => {
  const [stranger, other] = [newTestKey(), newTestKey()];
  const vouched = [...rows, introductionRow(3, other, stranger)];
  expect(await verified(await exported(vouched))).toMatch(
    `5\nkey ${other.keyId} is introduced by ${stranger.keyId}, which is no known key\n`,
  );
});

test('a key that was given says from when on it is valid, and until when', async () => {
  const given = (validity: object): string =>
    file('validity.json', JSON.stringify({ keys: [{ keyId, publicKey, ...validity }] }));
  const late = given({ validFrom: '2027-01-01T00:00:00.000Z' });
  expect(await verified(await exported(), '--keys', late)).toMatch(
    /^5\nseal 0 .* valid from 2027-01-01T00:00:00.000Z\n/,
  );
  const program = await programInProcess(logOf(rows));
  const proof = file('of-followed.json', await program.run('ledger', 'prove', idOf(6)));
  const until = '2026-11-05T10:20:31.000Z';
  const followed = given({ validFrom: '2026-01-01T00:00:00.000Z', validUntil: until });
  expect(await verified('--proof', proof, '--keys', followed)).toMatch(
    new RegExp(`^0\\nseal 1 \\(by a key that another has followed at ${until}\\) covers event 6: `),
  );
  expect(await program.run('ledger', 'check-proof', proof, '--keys', followed)).toContain(
    `by key ${keyId} (which another has followed at ${until}), covers event 6`,
  );
});

test.each<[string, (text: string) => string]>([
  ['of another', (text) => text.replace(/"keys":\[/, `$&{"keyId":"${next.keyId}","publicKey":"${next.publicKey}"},`)],
  ['gone', (text) => text.replace(/"keys":\[.*\]/, '"keys":[]')],
  ['valid sooner', (text) => text.replace(/"validFrom":"2026/, '"validFrom":"2025')],
  ['there twice', (text) => text.replace(/"keys":\[.*\]/, '"keys":[],$&')],
])('the keys beside an export are those that its seals introduce: one is %s', async (_, how) => {
  const out = await exported();
  const path = join(out, 'keys.json');
  const text = readFileSync(path, 'utf8');
  expect(how(text)).not.toBe(text);
  writeFileSync(path, how(text));
  expect(await verified(out)).toMatch(/^5\nkeys.json: its keys are not those that the stream of seals introduces\n/);
});

test.each<[string, (text: string) => string]>([
  ['a name twice', (text) => text.replace('"event":', '"event":{"data":"{}"},"event":')],
  ['one more name of an event', (text) => text.replace('"ordinal":', '"amount":1,"ordinal":')],
  ['one more name of a seal', (text) => text.replace('"ledgerId":', '"of":1,"ledgerId":')],
  ['white space', (text) => text.replace(',', ', ')],
])('a proof is taken as it is printed alone: %s', async (_, how) => {
  const program = await programInProcess(logOf(rows));
  const printed = await program.run('ledger', 'prove', idOf(6), '--since', '0');
  expect(how(printed)).not.toBe(printed);
  const proof = file('not-as-printed.json', how(printed));
  expect(await verified('--proof', proof, '--keys', keys)).toMatch(
    /^2\n.* is not as gateway ledger prove prints it\n$/,
  );
  await expect(program.run('ledger', 'check-proof', proof, '--keys', keys)).rejects.toThrow('expected a proof as');
});

test.each<[string, number, (line: string) => string]>([
  ['the newest seal with a name twice', 2, (line) => line.replace('"data":{', '"data":{"treeSize":1,')],
  ['a key with one more name', 0, (line) => line.replace('"data":{', '"data":{"note":1,')],
  ['metadata with a name twice', 2, (line) => line.replace('"metadata":{', '"metadata":{"actor":"nobody",')],
])('what no hash is over is to the byte as it is written: %s', async (_, at, how) => {
  const said = await verified(await changed('seals.ndjson', (lines) => lines.with(at, how(lines[at] ?? ''))));
  expect(said).toMatch(new RegExp(`^5\\nrevision ${at} of the stream of seals is not as it is written\\n`));
});

const inOtherForm = (field: 'signature' | 'publicKey') => (text: string) =>
  text.replace(new RegExp(`(?<="${field}":")[^"]+`), otherBase64Of);

test.each<[string, number, (line: string) => string, string]>([
  ['the newest seal’s signature', 2, inOtherForm('signature'), 'seal 1 .* has a signature that is not of its key'],
  ['a key', 0, inOtherForm('publicKey'), `key ${keyId} has the public key of another`],
  ['a key’s signature', 0, inOtherForm('signature'), `key ${keyId} has a signature that is not of who introduced it`],
])('what is in base64 has one form alone, also where nothing is signed over it: %s', async (_, at, how, fault) => {
  const said = await verified(await changed('seals.ndjson', (lines) => lines.with(at, how(lines[at] ?? ''))));
  expect(said).toMatch(new RegExp(`^5\\n${fault}\\n`));
});

test('a key and a seal that were kept elsewhere are in one form alone, too', async () => {
  const program = await programInProcess(logOf(rows));
  const proof = await program.run('ledger', 'prove', idOf(6));
  const said = await verified('--proof', file('form.json', inOtherForm('signature')(proof)), '--keys', keys);
  expect(said).toMatch(/^5\nseal 1 has a signature that is not of its key\n/);
  const given = file('form-keys.json', keysOf({ keyId, publicKey: otherBase64Of(publicKey) }));
  expect(await verified(await exported(), '--keys', given)).toMatch(/^2\n.*there is no key in it/);
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

/** Of the sixth line, which has `{}` as its data; what is sealed of each of these is the same. */
test.each<[string, (line: string) => string]>([
  ['a name that stands twice', (line) => line.replace('"data":', '"data":{"amount":"9"},"data":')],
  ['metadata that stands twice', (line) => line.replace('"metadata":', '"metadata":{},"metadata":')],
  ['a stream that stands twice', (line) => `{"stream":"account-acct_2",${line.slice(1)}`],
  ['a type that is an array', (line) => line.replace('"CreditsGranted"', '["CreditsGranted"]')],
  ['a revision that is a text', (line) => line.replace('"revision":5', '"revision":"5"')],
  ['an object as a text', (line) => line.replace('"data":{}', '"data":"{}"')],
  ['an escape that need not be', (line) => line.replace('Credits', '\\u0043redits')],
  ['one more name', (line) => line.replace('"id":', '"note":1,"id":')],
  ['one more name at the end', (line) => `${line.slice(0, -1)},"note":1}`],
  ['names in another order', (line) => line.replace(/("id":"[^"]+"),("type":"[^"]+")/, '$2,$1')],
  ['white space', (line) => line.replace(',"id"', ', "id"')],
  ['a position that does not rise', (line) => line.replace(/"position":\d+/, '"position":2')],
  ['an event of seals', (line) => line.replace('account-acct_1', 'seals')],
  ['no JSON', (line) => line.slice(1)],
])('a line that is not to the byte the one that is exported: %s', async (_, how) => {
  const said = await verified(
    await changed('events.ndjson', (lines) => lines.with(5, how(lines[5] ?? ''))),
    '--anchor',
    anchor,
  );
  expect(said.slice(0, 2)).toBe('5\n');
  expect(said).toContain('events.ndjson: not as an export writes it are so many lines: 1, the first is line 6\n');
  expect(said).toMatch(/\ndamaged\n$/);
});

test('neither text nor a line break of the folder commands the terminal', async () => {
  const hostile = await changed('seals.ndjson', (lines) =>
    lines.with(2, (lines[2] ?? '').replace(/"keyId":"\w+"/, '"keyId":"\\u001b[2K\\nanchored\\u001b[8m"')),
  );
  const said = await verified(hostile);
  expect(said).toContain('is signed by \\u{1b}[2K\\u{a}anchored\\u{1b}[8m, which is no known key');
  expect(said).not.toContain('\u001b');
  expect(said).not.toMatch(/^anchored/m);
  const bytes = await exported();
  writeFileSync(join(bytes, 'events.ndjson'), Buffer.of(0xff, 10));
  expect(await verified(bytes)).toMatch(/^2\nverify-export: The encoded data was not valid/);
});

const [next, third] = [newTestKey(), newTestKey()];
const events = rows.filter(({ stream }) => stream !== 'seals');
const late = '2026-11-05T10:20:31.001Z';

test.each<[string, Row[], string]>([
  [
    'a key that was followed by another signs on',
    sealed(events, { key, signers: [key, next, key], every: 4 }),
    'seal 2 ',
  ],
  [
    'a key that was followed by another vouches for the next',
    sealed(events, { key, signers: [key, next, third], every: 4 }),
    `key ${third.keyId} is introduced by ${keyId}, which a key has followed that has sealed`,
  ],
  [
    'a seal is a day and more before its key',
    sealed(events, { key, validFrom: '2026-11-06T10:20:31.002Z', every: 4 }),
    'seal 0 (events 0 to 3): is of 2026-11-05T10:20:31.001Z, and its key valid from 2026-11-06T10:20:31.002Z',
  ],
  [
    'a key is introduced a second time',
    [...rows, { ...introductionRow(3, key, null, late), revision: revision(3) }],
    `key ${keyId} is introduced a second time`,
  ],
])('does not hold: %s', async (_, log, fault) => {
  expect((await verified(await exported(log))).slice(0, 2 + fault.length)).toBe(`5\n${fault}`);
});

test('a key signs on until the one that follows it has signed, and all seals that are gone show by keys that were kept', async () => {
  const both = sealed(events, { key, signers: [key, key, next], introducedBefore: 1, every: 4 });
  expect(await verified(await exported(both))).toMatch(/^0\n/);
  const twice = sealed(events, { key, signers: [key, next, third], introducedBefore: 1, every: 4 });
  expect(await verified(await exported(twice))).toMatch(/^0\n/);
  // Clocks may differ by a day.
  const ahead = sealed(events, { key, validFrom: '2026-11-06T10:20:31.001Z', every: 4 });
  expect(await verified(await exported(ahead))).toMatch(/^0\n/);
  const given = file(
    'both.json',
    JSON.stringify({ keys: [key, next].map(({ keyId, publicKey }) => ({ keyId, publicKey, validFrom: late })) }),
  );
  expect(await verified(await exported(), '--keys', given)).toBe(
    `5\nkey ${next.keyId} is given, and nothing in the stream of seals introduces it\n` +
      'events 12, sealed 10, anchored 0, unsealed 2\ndamaged\n',
  );
  const bare = await exported(events);
  expect(await verified(bare)).toMatch(/^0\n.*\nnothing is sealed\n$/);
  for (const outside of [
    ['--keys', keys],
    ['--anchor', anchor],
  ])
    expect(await verified(bare, ...outside)).toMatch(/^5\n/);
  const gone = /^5\nkeys are given, and there is no seal: all of them are taken out\n/;
  const onlyKey = await exported([rows[0] as Row, ...events]);
  expect(await verified(onlyKey, '--keys', keys)).toMatch(gone);
  // One that was rotated before the first seal is introduced with the next.
  const [young, cut] = [undefined, '2026-11-05T10:20:31.002Z'].map((from) =>
    exported([rows[0] as Row, introductionRow(1, next, key, from), ...events]),
  );
  expect(await verified((await young) ?? '', '--keys', given)).toMatch(/^0\n.*\nnothing is sealed\n$/);
  expect(await verified((await cut) ?? '', '--keys', given)).toMatch(gone);
});

test.each<[string, readonly string[], RegExp]>([
  ['no key', ['--keys', file('none.json', '{"keys":[]}')], /none.json: there is no key in it$/],
  [
    'no JSON',
    ['--keys', file('half.json', '{')],
    /half.json: expected keys as gateway ledger keys --json prints them$/,
  ],
  ['a list', ['--keys', file('list.json', '[]')], /list.json: expected keys as /],
  ['a folder', ['--keys', folder], /: EISDIR/],
  ['no proof', ['--proof', file('bare.json', '{}')], /bare.json is not as gateway ledger prove prints it$/],
  ['half a proof', ['--proof', file('half-proof.json', '{"seal":')], /half-proof.json is not as gateway/],
])('names what it was given that has %s', async (_, [option = '', given = ''], said) => {
  const others = option === '--keys' ? [await exported()] : ['--keys', keys];
  expect(await verified(...others, option, given)).toMatch(
    new RegExp(`^2\nverify-export: ${said.source.replace('$', '\n$')}`.replace('verify-export: ', 'verify-export: .*')),
  );
});

test('keys that a program has written with a byte order mark are read', async () => {
  const marked = file('marked.json', `\ufeff${keysOf({ keyId, publicKey })}`);
  expect(await verified(await exported(), '--keys', marked)).toMatch(/^0\n/);
});

test('a proof is anchored as far as the seal goes that was kept, and no further', async () => {
  const program = await programInProcess(logOf(rows));
  const first = file('first.ndjson', JSON.stringify(seals[0]));
  const check = async (name: string, ...asked: readonly string[]): Promise<string> => {
    const proof = file(name, await program.run('ledger', 'prove', ...asked, '--since', '0'));
    return verified('--proof', proof, '--keys', keys, '--anchor', first);
  };
  const upTo = /^0\n[\s\S]*\nholds, not anchored: the anchor ends with event 4\n$/;
  expect(await check('behind.json', idOf(5))).toMatch(upTo);
  expect(await check('alone.json')).toMatch(upTo);
  expect(await check('covered.json', idOf(4))).toMatch(/^0\n[\s\S]*\nholds, anchored\n$/);
  const proof = JSON.parse(await program.run('ledger', 'prove', idOf(4)));
  const hollow = file('hollow.json', JSON.stringify({ ...proof, inclusion: null }));
  expect(await verified('--proof', hollow, '--keys', keys)).toMatch(/^5\nit shows neither/);
  const { event, path } = proof.inclusion;
  const array = { ...proof, inclusion: { event: { ...event, type: [event.type] }, path } };
  expect(await verified('--proof', file('array.json', JSON.stringify(array)), '--keys', keys)).toMatch(/^5\n/);
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
