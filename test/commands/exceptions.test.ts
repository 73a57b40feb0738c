import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, commandId, NO_STREAM, uuidV7 } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { given } from '../ledger/account/decider-specification.ts';
import { granted, keyIssued, opened, record, requestOf, usageOf } from '../ledger/account/example-account.ts';
import { type ProgramInProcess, programInProcess } from './program-in-process.ts';

const ACCOUNT = accountId('acct_ada');
/** Beyond its hold by 0.000050 USD. */
const BEYOND = requestOf(1);
/** Billed standard, with a tier that has no price. */
const UNPRICED = requestOf(2);
const why = ['--reason', 'looked into it'];

let program: ProgramInProcess;
beforeEach(async () => {
  program = await programInProcess();
  onTestFinished(() => program.close());
  const events: AccountEvent[] = [opened, granted('g', 100), keyIssued()];
  for (const usage of [
    usageOf(1, 70, { hold: microUsd(20n) }),
    usageOf(2, 10, { hold: microUsd(20n), unpriced: ['service_tier: batch'] }),
  ])
    events.push(
      ...given(...events)
        .when(record(usage))
        .events(),
    );
  const recording = {
    commandId: commandId(uuidV7(Date.now(), randomBytes(10))),
    actor: 'test',
    recordedAt: '2026-11-05T10:20:31.001Z',
  };
  await program.log.append(accountStream(ACCOUNT), NO_STREAM, encodeEvents(events, recording));
});

const listed = async () => (await program.json('exception', 'list', '--all')).exceptions;

describe('gateway exception', () => {
  it('approve prints the debit and the balance after it, and with --dry-run writes nothing', async () => {
    const before = await program.log.headPosition();
    const dry = await program.run('exception', 'approve', BEYOND, ...why, '--dry-run');
    expect(dry).toBe(
      `would have approved 0.00005 USD of ${BEYOND} (acct_ada): looked into it\n` +
        'debit 0.00005 USD; balance after it 0.00002 USD\nnothing was written\n',
    );
    const asJson = await program.json('exception', 'approve', BEYOND, ...why, '--dry-run');
    expect(asJson).toMatchObject({ approved: false, dryRun: true, amountMicroUsd: '50', balanceAfterMicroUsd: '20' });
    expect(await program.log.headPosition()).toBe(before);
    const done = await program.run('exception', 'approve', BEYOND, ...why);
    expect(done).toMatch(
      new RegExp(
        `^approved 0\\.00005 USD of ${BEYOND} \\(acct_ada\\): looked into it\\n` +
          'debit 0\\.00005 USD; balance after it 0\\.00002 USD\\nwritten at .*Z\\n$',
      ),
    );
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '20' });
  });

  it('approve of what had no price debits nothing, and says so', async () => {
    const done = await program.run('exception', 'approve', UNPRICED, ...why);
    expect(done).toContain('debit 0.00 USD; balance after it 0.00007 USD\n');
    expect(done).toContain('what had no price stays as it was billed, standard or not at all: service_tier: batch\n');
    expect(await program.json('account', 'show', 'acct_ada')).toMatchObject({ balance: '70' });
  });

  it('drop with --dry-run writes nothing, and what is refused is refused there, too', async () => {
    const before = await program.log.headPosition();
    expect(await program.run('exception', 'drop', BEYOND, ...why, '--dry-run')).toMatch(
      /^would have dropped 0\.00005 USD/,
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
