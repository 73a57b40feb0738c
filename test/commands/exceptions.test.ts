import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { EventLogError } from '../../contracts/event-log.ts';
import type { AccountEvent, UsageRecorded } from '../../contracts/events.ts';
import { accountId, accountStream, commandId, revision, uuidV7 } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { runGatewayProgram } from '../../proxy/program/run-gateway-program.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { given } from '../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  limitSet,
  opened,
  record,
  requestOf,
  usageOf,
} from '../fixtures/ledger/example-account.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const ACCOUNT = accountId('acct_ada');
/** Beyond its hold by 0.000050 USD. */
const BEYOND = requestOf(1);
/** Billed standard, with a tier that has no price. */
const UNPRICED = requestOf(2);
const why = ['--reason', 'looked into it'];

let program: ProgramInProcess;
let life: AccountEvent[];
beforeEach(async () => {
  program = endedLater(await programInProcess());
  life = [];
  await write(opened, granted('g', 100), keyIssued());
  await use(
    usageOf(1, 70, { hold: microUsd(20n) }),
    usageOf(2, 10, { hold: microUsd(20n), unpriced: ['service_tier: batch'] }),
  );
});

async function write(...events: readonly AccountEvent[]): Promise<void> {
  const recording = {
    commandId: commandId(uuidV7(Date.now(), randomBytes(10))),
    actor: 'test',
    recordedAt: '2026-11-05T10:20:31.001Z',
  };
  const at = revision(life.length - 1);
  await program.log.append(accountStream(ACCOUNT), at, encodeEvents(events, recording));
  life.push(...events);
}

async function use(...usages: readonly UsageRecorded[]): Promise<void> {
  const events: AccountEvent[] = [];
  for (const usage of usages) events.push(...given(...life, ...events).decided(record(usage)));
  await write(...events);
}

/** Of the appends that it is asked of, each finds another writer's before it. Returns how many events the others have had. */
function anotherWriterBefore(isLate: (events: readonly unknown[]) => boolean): readonly number[] {
  const append = program.log.append.bind(program.log);
  const groups: number[] = [];
  const another: typeof append = async (stream, at, events) => {
    if (isLate(events)) {
      program.log.append = append;
      await write(limitSet(1_000));
      program.log.append = another;
    }
    const outcome = await append(stream, at, events);
    if (outcome.type === 'appended') groups.push(events.length);
    return outcome;
  };
  program.log.append = another;
  return groups;
}

const open = async () =>
  ((await program.json('exception', 'list')).exceptions as { request: string }[]).map(({ request }) => request);
const listed = async () => (await program.json('exception', 'list', '--all')).exceptions;

describe('gateway exception', () => {
  it('approve prints the debit and the balance after it, and with --dry-run writes nothing', async () => {
    const before = await program.log.headPosition();
    const dry = await program.run('exception', 'approve', BEYOND, ...why, '--dry-run');
    expect(dry).toBe(
      `would have approved 0.000050 USD of ${BEYOND} (acct_ada): looked into it\n` +
        'debit 0.000050 USD; balance after it 0.000020 USD\nnothing was written\n',
    );
    const asJson = await program.json('exception', 'approve', BEYOND, ...why, '--dry-run');
    expect(asJson).toMatchObject({ approved: false, dryRun: true, amountMicroUsd: '50', balanceAfterMicroUsd: '20' });
    expect(await program.log.headPosition()).toBe(before);
    const done = await program.run('exception', 'approve', BEYOND, ...why);
    expect(done).toMatch(
      new RegExp(
        `^approved 0\\.000050 USD of ${BEYOND} \\(acct_ada\\): looked into it\\n` +
          'debit 0\\.000050 USD; balance after it 0\\.000020 USD\\nwritten at .*Z\\n$',
      ),
    );
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '20' });
  });

  it('approve of what had no price debits nothing, and says so', async () => {
    const done = await program.run('exception', 'approve', UNPRICED, ...why);
    expect(done).toContain('debit 0.000000 USD; balance after it 0.000070 USD\n');
    expect(done).toContain('what had no price stays as it was billed, standard or not at all: service_tier: batch\n');
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '70' });
  });

  it('drop with --dry-run writes nothing, and what is refused is refused there, too', async () => {
    const before = await program.log.headPosition();
    expect(await program.run('exception', 'drop', BEYOND, ...why, '--dry-run')).toMatch(
      /^would have dropped 0\.000050 USD/,
    );
    await expect(program.run('exception', 'drop', BEYOND, '--reason', ' ', '--dry-run')).rejects.toThrow(/say why/);
    expect(await program.log.headPosition()).toBe(before);
  });

  it('list --all shows of those that have ended what they were about, the amount, who ended them, when and why', async () => {
    await program.run('exception', 'approve', BEYOND, ...why);
    await program.run('exception', 'drop', UNPRICED, '--reason', 'a test of theirs');
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    expect(await listed()).toEqual([
      {
        ...{ accountId: ACCOUNT, request: BEYOND, state: 'approved', model: 'opal-medium', startedAt: instant },
        ...{ amountMicroUsd: '50', costPicoUsd: '50000000', why: ['beyond its hold'] },
        ...{ reason: 'looked into it', actor: 'operator', endedAt: instant },
      },
      {
        ...{ accountId: ACCOUNT, request: UNPRICED, state: 'dropped', model: 'opal-medium', startedAt: instant },
        ...{ amountMicroUsd: '0', costPicoUsd: '0', why: ['no price for service_tier: batch'] },
        ...{ reason: 'a test of theirs', actor: 'operator', endedAt: instant },
      },
    ]);
    const table = await program.run('exception', 'list', '--all');
    expect(table).toMatch(/beyond its hold .*approved .*operator .*looked into it/);
    expect(await program.json('exception', 'list')).toEqual({ exceptions: [], unlisted: 0 });
  });
});

describe('gateway exception approve and drop --all', () => {
  const all = ['--all', '--account', ACCOUNT, ...why];
  const laterAt = '2026-11-07T00:00:00.000Z';
  const later = usageOf(3, 70, { hold: microUsd(30n), startedAt: laterAt, finishedAt: laterAt });

  it('end what is open, with one answer, and what is ended already stays as it is', async () => {
    await use(later);
    const before = await program.log.headPosition();
    const dry = await program.run('exception', 'approve', ...all, '--dry-run');
    expect(dry).toBe(
      'would have approved 3 exceptions of acct_ada, 0.000090 USD: looked into it\n' +
        'debits 0.000090 USD, 0.000050 USD of it beyond what the grants have; balance after them -0.000050 USD\n' +
        'what had no price stays as it was billed, standard or not at all: in 1 of them\nnothing was written\n',
    );
    expect(await program.log.headPosition()).toBe(before);
    expect(await program.run('exception', 'approve', ...all, '--before', '2026-11-07')).toMatch(
      /^approved 2 exceptions of acct_ada of requests that started before 2026-11-07T00:00:00\.000Z, 0\.000050 USD: looked into it\n(.*\n){2}written at .*Z\n$/,
    );
    expect(await open()).toEqual([requestOf(3)]);
    const dropped = await program.json('exception', 'drop', ...all);
    expect(dropped).toMatchObject({ accountId: ACCOUNT, dropped: true, exceptions: 1, amountMicroUsd: '40' });
    expect(await listed()).toMatchObject([
      { request: BEYOND, state: 'approved' },
      { request: UNPRICED, state: 'approved' },
      { request: requestOf(3), state: 'dropped', reason: 'looked into it' },
    ]);
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '-10' });
    const head = await program.log.headPosition();
    expect(await program.run('exception', 'approve', ...all)).toBe(
      'acct_ada has no open exceptions\nnothing was written: it is so already\n',
    );
    expect(await program.log.headPosition()).toBe(head);
  });

  it('take as many appends as they need, each once, beside other writers', async () => {
    await use(...Array.from({ length: 200 }, (_, index) => usageOf(10 + index, 3, { hold: microUsd(2n) })));
    const append = program.log.append.bind(program.log);
    const groups: number[] = [];
    let isFirst = true;
    program.log.append = async (stream, at, events) => {
      if (isFirst) {
        isFirst = false;
        // Between the reading and the first append somebody ends one of them.
        const data = { requestId: requestOf(20), amount: microUsd(1n), reason: 'x', actor: 'another' };
        await write({ type: 'ExceptionDropped', data });
      }
      const outcome = await append(stream, at, events);
      if (outcome.type === 'appended') groups.push(events.length);
      return outcome;
    };
    const reason = 'x'.repeat(500);
    const answer = await program.json('exception', 'drop', '--all', '--account', ACCOUNT, '--reason', reason);
    expect(answer).toMatchObject({ dropped: true, exceptions: 201, amountMicroUsd: String(50 + 199) });
    expect(groups.length).toBeGreaterThan(2);
    expect(groups.reduce((sum, count) => sum + count, 0)).toBe(202);
    expect(await open()).toEqual([]);
  });

  it('end fewer at once where other writers always come between longer ones, and go on', async () => {
    await use(...Array.from({ length: 12 }, (_, index) => usageOf(10 + index, 3, { hold: microUsd(2n) })));
    // Of a group of more than three, something is always written while it is decided.
    const groups = anotherWriterBefore((events) => events.length > 3);
    expect(await program.json('exception', 'drop', ...all)).toMatchObject({ dropped: true, exceptions: 14 });
    expect(groups).toEqual([3, 3, 3, 3, 2]);
    expect(await open()).toEqual([]);
  });

  it('give up where not even one gets in, in one line that says to try again', async () => {
    anotherWriterBefore(() => true);
    const args = ['--config', program.file, 'exception', 'drop', ...all];
    expect(await runGatewayProgram(program.context, args)).toBe(EXIT.refused);
    expect(program.warned).toBe('gateway: account acct_ada: 30 attempts conflicted with other writers; try again\n');
  });

  it('say how many they have ended where they cannot go on, and end the others when they are run again', async () => {
    await use(...Array.from({ length: 200 }, (_, index) => usageOf(10 + index, 3, { hold: microUsd(2n) })));
    const append = program.log.append.bind(program.log);
    let appends = 0;
    program.log.append = async (...args) => {
      if (++appends > 1) throw new EventLogError('invalid', 'no more');
      return append(...args);
    };
    const reason = ['--reason', 'x'.repeat(500)];
    const drop = ['exception', 'drop', '--all', '--account', ACCOUNT, ...reason];
    await expect(program.run(...drop)).rejects.toThrow('no more');
    const [, count] =
      /^(\d+) exceptions of acct_ada were dropped before this; run it again\n$/.exec(program.warned) ?? [];
    program.log.append = append;
    expect(Number(count)).toBeGreaterThan(50);
    expect(await program.json(...drop)).toMatchObject({ exceptions: 202 - Number(count) });
  });

  it.each<[RegExp, readonly string[]]>([
    [/say one of <request> and --all/, ['--account', ACCOUNT]],
    [/say one of <request> and --all/, [BEYOND, '--all', '--account', ACCOUNT]],
    [/--before goes with --all/, [BEYOND, '--before', '2026-11-07']],
    [/say of which account/, ['--all']],
    [/there is no such account/, ['--all', '--account', 'acct_nobody']],
  ])('are refused where they do not say of which: %s', async (message, args) => {
    await expect(program.run('exception', 'drop', ...args, ...why)).rejects.toThrow(message);
  });
});
