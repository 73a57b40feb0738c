import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountStream, commandId, eventId } from '../../contracts/ids.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { editFile } from '../fixtures/ledger/edited-file.ts';
import { ACCOUNT } from '../fixtures/ledger/example-account.ts';
import { lifeOfExceptions } from '../fixtures/ledger/life-of-exceptions.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { account, settlementScene } from '../fixtures/ledger/settlement-scene.ts';
import { newId } from '../fixtures/ledger/shared-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { proposedLife } from '../ledger/statement/stored-life.ts';
import { type Kind, putBack, readKept } from '../written-before/kept-state.ts';

const COMMIT = '76ed563';
const AMOUNTS = /([+-][\d,]+\.\d{6}) +(-?[\d,]+\.\d{6})$/gm;

/** A ledger of before, with events of earlier forms: the program on a copy of it. */
async function ofBefore(kind: Kind) {
  const { log, computed } = await putBack(COMMIT, kind, 'ledger');
  return { program: endedLater(await programInProcess(log)), computed };
}
const microOf = (text: string): bigint => BigInt(text.replaceAll(/[,.+]/g, ''));

describe.each<Kind>(['sqlite', 'eventstoredb'])('a ledger of before, in %s', (kind) => {
  it('is replayed as statements whose lines add up to the balances of then', async () => {
    const { program, computed } = await ofBefore(kind);
    for (const id of Object.keys(computed.accounts)) {
      const said = await program.run('ledger', 'replay', id);
      const moves = [...said.matchAll(AMOUNTS)].map(([, amount = '', balance = '']) => [amount, balance].map(microOf));
      expect(moves.length).toBeGreaterThan(1);
      let sum = 0n;
      for (const [amount = 0n, balance] of moves) {
        sum += amount;
        expect(balance).toBe(sum);
      }
      const { balanceMicroUsd } = await program.json('ledger', 'replay', id, '--at', '2099-01-01');
      expect(BigInt(String(balanceMicroUsd))).toBe(sum);
      const { balance } = await program.json('account', 'show', id);
      expect(String(balance)).toBe(balanceMicroUsd);
    }
  });

  it('gives the stored bytes of a range, by revision and by time', async () => {
    const { program } = await ofBefore(kind);
    const all = await program.run('--json', 'ledger', 'events', 'acct_ada');
    expect(await program.run('--json', 'ledger', 'replay', 'acct_ada')).toBe(all);
    const lines = all.trimEnd().split('\n');
    const times = lines.map((line): string => JSON.parse(line).metadata.recordedAt);
    const part = async (...range: readonly string[]) =>
      (await program.run('--json', 'ledger', 'replay', 'acct_ada', ...range)).trimEnd().split('\n');
    expect(await part('--from', '3', '--to', '5')).toEqual(lines.slice(3, 6));
    expect(await part('--from', times[3] ?? '', '--to', times[6] ?? '')).toEqual(lines.slice(3, 6));
  });

  it('tells what an account was at a revision and at an instant, its own events being in it', async () => {
    const { program } = await ofBefore(kind);
    const at = (place: string) => program.json('ledger', 'replay', 'acct_ada', '--at', place);
    const atTwelve = await at('12');
    expect(atTwelve).toMatchObject({
      revision: 12,
      balanceMicroUsd: '29426219',
      limits: { accountMicroUsd: '6000000' },
      month: { month: '2026-11', accountMicroUsd: '73781' },
      grants: [{ grantId: 'grant_trial', remainingMicroUsd: '4926219' }, {}, {}, {}],
    });
    const written = String(atTwelve.recordedAt);
    const later = await at(written);
    expect(later.revision).toBeGreaterThanOrEqual(12);
    const before = await at(new Date(Date.parse(written) - 1).toISOString());
    expect(before.revision).toBeLessThan(12);
    expect(before.balanceMicroUsd).toBe('29500000');
    expect((await at('4')).limits).toEqual({ accountMicroUsd: null, keysMicroUsd: {}, others: null });
  });
});

describe('on the command line', () => {
  const { folder } = readKept(COMMIT, 'sqlite', 'ledger');
  const run = (...args: string[]) => runHere('--data', `${folder}/data`, 'ledger', 'replay', ...args);

  it('a statement has its balance brought forward and its sums, and fits 120 columns', async () => {
    const { exitCode, stdout } = await run('acct_ada', '--from', '10', '--to', '16');
    expect(exitCode).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('brought forward: 29.500000 USD');
    expect(lines[1]).toMatch(/^revision {2}when \(UTC\) +what +amount \(USD\) +balance \(USD\)$/);
    expect(lines[2]).toMatch(/^ {6}12 {2}2026-11-19 02:25:09 {2}opal-medium: 20,011 input, .* -0\.073781 +29\.426219$/);
    expect(lines.slice(-6)).toEqual([
      'brought forward  29.500000 USD',
      'added            +0.000000 USD',
      'taken            -0.575592 USD',
      'balance          28.924408 USD',
      expect.stringMatching(/^events of leases, which move no money, are left out: \d+ \(--all shows them\)$/),
      '',
    ]);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(120);
    expect(stdout).not.toMatch(/ $|…/m);
    const all = (await run('acct_ada', '--all')).stdout;
    const revisions = [...all.matchAll(/^ +(\d+) {2}\d{4}-/gm)].map(([, at]) => Number(at));
    expect(revisions).toEqual(revisions.map((_, at) => at));
    expect(revisions.length).toBeGreaterThan(30);
  });

  it('says what an account was, for people', async () => {
    const { stdout } = await run('acct_ada', '--at', '12');
    expect(stdout).toMatch(/^balance +29\.426219 USD, and 0\.000000100000 USD carried to the next debit$/m);
    expect(stdout).toMatch(/^spent 2026-11 +0\.073781 USD, of at most 6\.000000 USD$/m);
    expect(stdout).toMatch(/^grant_trial +trial +5\.000000 +4\.926219 +0\.000000 +until 2026-12-19 02:24:49$/m);
    expect(stdout).toMatch(/^key_\w+ +limited +in use +0\.000000 +of at most 1\.000000 USD$/m);
  });

  it.each([
    ['an account that there is not', ['acct_none'], 3, 'gateway: acct_none: there is no such account\n'],
    ['a time before it', ['acct_ada', '--at', '2020-01-01'], 3, /there was no such account at that time/],
    ['a revision behind its end', ['acct_ada', '--at', '99999'], 3, /its stream ends with revision \d+/],
    ['two answers at once', ['acct_ada', '--at', '3', '--from', '2'], 2, /--at goes without/],
    ['no place', ['acct_ada', '--at', 'noon'], 2, /--at <place>.*expected a date that there is/s],
  ])('refuses %s', async (_what, args, exitCode, said) => {
    const ended = await run(...args);
    expect(ended).toMatchObject({ exitCode, stdout: '' });
    expect(ended.stderr).toMatch(said);
  });

  it('is drawn for a terminal of 80 columns with each sentence below its amounts', async () => {
    const { log } = await putBack(COMMIT, 'sqlite', 'ledger');
    const program = endedLater(await programInProcess(log));
    let stdout = '';
    const write = (text: string): void => {
      stdout += text;
    };
    const context = { ...program.context, write, columns: 80 };
    expect(await runGatewayProgram(context, ['--config', program.file, 'ledger', 'replay', 'acct_ada'])).toBe(0);
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(stdout).not.toContain('…');
    expect(stdout).toMatch(/^ {6}12 {2}2026-11-19 02:25:09 +-0\.073781 +29\.426219\n {10}opal-medium: 20,011 input/m);
  });

  it('an account at a revision finds room on a terminal of 40 columns, and is painted where there are colours', async () => {
    const { log } = await putBack(COMMIT, 'sqlite', 'ledger');
    const program = endedLater(await programInProcess(log));
    const shown = async (columns: number, hasColours: boolean): Promise<string> => {
      let said = '';
      const write = (text: string): void => {
        said += text;
      };
      const context = { ...program.context, write, columns, ...(hasColours ? { writePainted: write } : {}) };
      const words = ['--config', program.file, 'ledger', 'replay', 'acct_ada', '--at', '12'];
      expect(await runGatewayProgram(context, words)).toBe(0);
      return said;
    };
    const narrow = await shown(40, false);
    expect(Math.max(...narrow.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(40);
    expect(narrow).toMatch(/^grant_trial\n {2}source +trial\n {2}granted \(USD\) +5\.000000\n {2}left +4\.926219$/m);
    expect(narrow).toMatch(/^balance\n {2}29\.426219 USD, and 0\.000000100000 USD$/m);
    const painted = await shown(0, true);
    expect(stripVTControlCharacters(painted).replaceAll(/ +$/gm, '')).toBe(await shown(0, false));
    expect(painted).toContain('\u001b[1mbalance\u001b[22m');
  });
});

it('refuses a range in which nothing can be; one of a single revision has its event', async () => {
  const { program } = await ofBefore('sqlite');
  const replay = (from: string, to: string) =>
    program.run('--json', 'ledger', 'replay', 'acct_ada', '--from', from, '--to', to);
  for (const [from, to] of [
    ['21', '20'],
    ['2026-11-22', '2026-11-21'],
    ['2026-11-22', '2026-11-22'],
  ] as const)
    await expect(replay(from, to)).rejects.toMatchObject({
      exitCode: EXIT.usage,
      message: '--from: must be before --to',
    });
  expect(JSON.parse(await replay('20', '20'))).toMatchObject({ revision: 20 });
});

it('shows an event that cannot be read in its place, goes on, and ends with 5; its bytes are in the JSON', async () => {
  const { log } = await settlementScene(1);
  log.write(accountStream(account(0)), [
    { id: eventId(newId()), type: 'OrderPlaced', data: '{"items":\n2}', metadata: '{}' },
  ]);
  const program = endedLater(await programInProcess(log));
  let [stdout, stderr] = ['', ''];
  const context = {
    ...program.context,
    write: (text: string) => {
      stdout += text;
    },
    warn: (text: string) => {
      stderr += text;
    },
  };
  const args = ['--config', program.file, 'ledger', 'replay', account(0)];
  expect(await runGatewayProgram(context, args)).toBe(5);
  expect(stdout).toMatch(/^ {7}3 {2}unknown +cannot be read: account-a0 revision 3 .* unknown$/m);
  expect(stdout).toMatch(/^balance +unknown$/m);
  expect(stderr).toBe('gateway: a0: not all of its stream can be relied on: one line says what is amiss\n');
  stderr = '';
  expect(await runGatewayProgram(context, [...args, '--at', '2099-01-01'])).toBe(5);
  expect(stderr).toMatch(
    /^gateway: a0: not all of its stream can be relied on: account-a0 revision 3 \(OrderPlaced\): /,
  );
  expect(await program.json('ledger', 'replay', account(0), '--at', '2')).toMatchObject({ balanceMicroUsd: '1000000' });
  const sound = endedLater(await programInProcess((await settlementScene(1)).log));
  await expect(sound.run('ledger', 'replay', account(0), '--at', '2026')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: 'a0: there is no revision 2026: its stream ends with revision 2',
  });
  const stored = (await program.run('--json', 'ledger', 'replay', account(0))).trimEnd().split('\n');
  expect(JSON.parse(stored[3] ?? '')).toMatchObject({ type: 'OrderPlaced', data: '{"items":\n2}' });
});

it('of an edited grant --at says which debit behind it cannot follow, as the statement says where they disagree, and ends with 5', async () => {
  const path = join(readKept(COMMIT, 'sqlite', 'ledger').folder, 'data', 'ledger.db');
  const grant = "type = 'CreditsGranted' AND stream_id = (SELECT id FROM stream WHERE name = 'account-acct_ada')";
  editFile(path, (database) =>
    database.exec(`UPDATE event SET data = json_set(data, '$.amount', '9000000') WHERE ${grant}`),
  );
  const replay = (...words: string[]) => runHere('ledger', 'replay', 'acct_ada', '--offline', path, ...words);
  const [whole, at, json] = [await replay(), await replay('--at', '12'), await replay('--at', '12', '--json')];
  expect([whole.exitCode, whole.stdout.replaceAll(/\s+/g, ' ')]).toEqual([5, expect.stringContaining('It says ')]);
  const why =
    /revision 12 \(CreditsDebited\): it cannot follow .*: it leaves a balance of \d+ micro-USD, and says \d+$/m;
  for (const { exitCode, stdout, stderr } of [at, json])
    expect([exitCode, stdout, stderr]).toEqual([5, '', expect.stringMatching(why)]);
  expect(await replay('--at', '11')).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('balance') });
});

it('a stream that the log hides is told as such, and no statement is made of it', async () => {
  const { log } = await settlementScene(1);
  log.hidden.add(accountStream(account(0)));
  const program = endedLater(await programInProcess(log));
  for (const more of [[], ['--at', '1'], ['--json']])
    await expect(program.run('ledger', 'replay', account(0), ...more)).rejects.toThrow('account-a0 is hidden');
});

it('is painted where there are colours, by us alone: what others have written stays what it is', async () => {
  const { log } = await settlementScene(1);
  log.write(
    accountStream(account(0)),
    encodeEvents(
      [
        {
          type: 'AccountSuspended',
          data: { reason: '\u001b[31mred\u001b[39m \u001b[2J 信用卡有争议'.padEnd(90, '的') },
        },
      ],
      {
        commandId: commandId('019a5b3c-2222-7000-8000-00000000000a'),
        actor: 'operator',
        recordedAt: '2026-11-05T10:20:31.001Z',
      },
    ),
  );
  log.write(accountStream(account(0)), [{ id: eventId(newId()), type: 'OrderPlaced', data: '{}', metadata: '{}' }]);
  const program = endedLater(await programInProcess(log));
  const run = async (hasColours: boolean, columns: number): Promise<string> => {
    let said = '';
    const write = (text: string): void => {
      said += text;
    };
    const context = {
      ...program.context,
      warn: () => undefined,
      write,
      columns,
      ...(hasColours ? { writePainted: write } : {}),
    };
    await runGatewayProgram(context, ['--config', program.file, 'ledger', 'replay', account(0)]);
    return said;
  };
  for (const columns of [0, 80, 120]) {
    const [plain, painted] = [await run(false, columns), await run(true, columns)];
    expect(plain).not.toContain('\u001b');
    expect(stripVTControlCharacters(painted).replaceAll(/ +$/gm, '')).toBe(plain);
    expect(painted).toContain('\u001b[1mrevision\u001b[22m');
    expect(painted).toContain('\u001b[31mcannot be read: account-a0 revision 4');
    for (const text of ['suspended by operator: \\u001b[31mred\\u001b[39m', '\\u001b[2J'])
      expect(plain).toContain(text);
    expect(plain).not.toContain('…');
    expect(plain.match(/的/g)).toHaveLength(
      '\u001b[31mred\u001b[39m \u001b[2J 信用卡有争议'.padEnd(90, '的').match(/的/g)?.length ?? 0,
    );
  }
});

describe('where a clock was ahead', () => {
  /** Of a stream whose events are a second apart, but for one that says the year 2099. */
  async function ahead(at: number) {
    const log = new MemoryEventLog();
    const life = proposedLife(lifeOfExceptions()).map((event, revision) =>
      revision === at
        ? { ...event, metadata: event.metadata.replace(/2026-11-05T[\d:.]+Z/, '2099-01-01T00:00:00.000Z') }
        : event,
    );
    log.write(accountStream(ACCOUNT), life);
    const program = endedLater(await programInProcess(log));
    const replay = async (...words: string[]) => {
      const before = program.warned.length;
      const said = await program.run('--json', 'ledger', 'replay', ACCOUNT, ...words);
      return {
        said: said
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line)),
        warned: program.warned.slice(before),
      };
    };
    return { program, replay };
  }
  const TIME = '2026-11-05T10:00:05Z';

  it('the account at a time is what its first events make, and the event that ends them is told, and what is hidden', async () => {
    const { replay } = await ahead(3);
    const { said, warned } = await replay('--at', TIME);
    expect(said).toMatchObject([
      { revision: 2, disorder: { revision: 3, recordedAt: '2099-01-01T00:00:00.000Z', earlier: 2, lastEarlier: 5 } },
    ]);
    expect(warned).toMatch(
      /^warning: acme: revision 3 says 2099-01-01T00:00:00\.000Z, and the stream is divided there; 2 behind it, up to revision 5, say an earlier time: .*\n$/,
    );
    expect(await replay('--at', '5')).toMatchObject({ said: [{ revision: 5, disorder: null }], warned: '' });
    expect(await replay('--at', '2099-01-02')).toMatchObject({ said: [{ disorder: null }], warned: '' });
  });

  it('a range of times says on which side what stands behind it is', async () => {
    const { replay } = await ahead(3);
    const revisions = ({ said }: { said: { revision: number }[] }) => said.map(({ revision }) => revision);
    const upTo = await replay('--to', TIME);
    expect([revisions(upTo), upTo.warned]).toEqual([
      [0, 1, 2],
      expect.stringMatching(/^warning: acme: --to: revision 3 .* 1 behind it, up to revision 4, says an earlier/),
    ]);
    const from = await replay('--from', TIME, '--to', '6');
    expect([revisions(from), from.warned]).toEqual([
      [3, 4, 5, 6],
      expect.stringMatching(/^warning: acme: --from: revision 3 .* 1 behind it, up to revision 4, says an earlier/),
    ]);
    expect((await replay('--from', '2', '--to', '4')).warned).toBe('');
    expect((await replay('--from', '2026-11-05T10:00:01Z', '--to', '2026-11-05T10:00:02Z')).warned).toMatch(/^$/);
  });

  it('an account that was opened by it was there by no other event’s time', async () => {
    const { program, replay } = await ahead(0);
    await expect(replay('--at', TIME)).rejects.toThrow('there was no such account at that time');
    expect(program.warned).toMatch(/revision 0 says 2099-.* 5 behind it, up to revision 5, say an earlier time/);
  });
});
