import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import { accountStream, commandId, NO_STREAM, revision } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { executeCommand } from '../../../ledger/account/execute-command.ts';
import { loadAccount, UNOPENED } from '../../../ledger/account/load-account.ts';
import { TIMING } from '../../../ledger/timing.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  grant as grantCommand,
  granted,
  KEY,
  keyIssued,
  OPENED_AT,
  opened,
} from '../../fixtures/ledger/example-account.ts';
import { type AppendFault, MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { promptPause, waitedMs } from '../../fixtures/ledger/prompt-pauses.ts';
import { foreignGrant } from '../../fixtures/ledger/settlement-scene.ts';

beforeEach(() => {
  waitedMs.length = 0;
});
afterEach(() => vi.restoreAllMocks());

const TIME = { ...TIMING, pause: promptPause };
const STREAM = accountStream(ACCOUNT);
const RECORDING = {
  commandId: commandId('019a5b3c-3333-7000-8000-00000000000a'),
  actor: 'operator',
  recordedAt: OPENED_AT,
};
const grant = grantCommand('g1', 7);

function openedLog(...faults: readonly AppendFault[]): MemoryEventLog {
  const log = new MemoryEventLog();
  log.write(
    STREAM,
    encodeEvents([opened], { ...RECORDING, commandId: commandId('019a5b3c-4444-7000-8000-000000000001') }),
  );
  const left = [...faults];
  log.faults = () => left.shift() ?? { type: 'none' };
  return log;
}

const precededBy = (at: number): AppendFault => ({ type: 'precede', events: foreignGrant(at + 1) });

describe('a command', () => {
  test('is decided on the account as it stands, and appended', async () => {
    const log = openedLog();
    const result = await executeCommand(log, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME });
    expect(result).toEqual({
      type: 'done',
      events: [granted('g1', 7)],
      before: fold([opened]),
      after: 0,
      revision: 1,
      position: log.events.at(-1)?.position,
    });
    expect((await loadAccount(log, ACCOUNT)).state).toEqual(fold([opened, granted('g1', 7)]));
  });

  test('that is refused writes nothing', async () => {
    const log = openedLog();
    expect(
      await executeCommand(log, ACCOUNT, { ...grant, amount: microUsd(0n) }, OPERATOR, RECORDING, { timing: TIME }),
    ).toMatchObject({
      type: 'refused',
      code: 'invalid_amount',
    });
    expect(log.appends).toBe(0);
  });

  test('that changes nothing writes nothing', async () => {
    const log = openedLog();
    const limit: AccountCommand = { type: 'SetSpendLimit', keyId: null, limit: null, nowMs: 0 };
    expect(await executeCommand(log, ACCOUNT, limit, OPERATOR, RECORDING, { timing: TIME })).toMatchObject({
      type: 'done',
      events: [],
      position: null,
    });
    expect(log.appends).toBe(0);
  });

  test('is decided again where another writer came first', async () => {
    const log = openedLog({ type: 'precede', events: foreignGrant(1) });
    const result = await executeCommand(log, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME });
    expect(result).toMatchObject({ type: 'done', revision: 2 });
    expect(log.events.map(({ type }) => type)).toEqual(['AccountOpened', 'CreditsGranted', 'CreditsGranted']);
  });

  test('is refused where the other writer has made it impossible', async () => {
    const other = encodeEvents([granted('g1', 8)], {
      ...RECORDING,
      commandId: commandId('019a5b3c-5555-7000-8000-000000000001'),
    });
    const log = openedLog({ type: 'precede', events: other });
    expect(await executeCommand(log, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME })).toMatchObject({
      type: 'refused',
      code: 'grant_exists',
    });
  });

  test('that is a rotation at once with another of the same key is refused where it comes second', async () => {
    const log = openedLog();
    const issued = { ...RECORDING, commandId: commandId('019a5b3c-6666-7000-8000-000000000001') };
    log.write(STREAM, encodeEvents([keyIssued()], issued));
    const rotate = (last4: string, overlapMs: number) => {
      const recording = { ...RECORDING, commandId: commandId(`019a5b3c-7777-7000-8000-00000000${last4}`) };
      const secret = { keyId: KEY, sha256: last4.repeat(16), last4 };
      const rotating = { type: 'RotateKey', ...secret, overlapMs, endsPrevious: false, by: 'ada', nowMs: 1 } as const;
      return executeCommand(log, ACCOUNT, rotating, OPERATOR, recording, { timing: TIME });
    };
    expect(await Promise.all([rotate('0001', 3_600_000), rotate('0002', 3_600_000)])).toMatchObject([
      { type: 'done' },
      { type: 'refused', code: 'previous_secret_works' },
    ]);
    // It was decided as though there were no other one.
    expect(log.appends).toBe(2);
    expect(log.events.map(({ type }) => type)).toEqual(['AccountOpened', 'ApiKeyIssued', 'ApiKeyRotated']);
  });

  test.each<AppendFault['type'] & ('lose' | 'drop' | 'refuse')>(['lose', 'drop', 'refuse'])(
    'takes effect once where the append is to %s',
    async (type) => {
      const log = openedLog({ type }, { type });
      expect(await executeCommand(log, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME })).toMatchObject({
        type: 'done',
        revision: 1,
      });
      expect(log.events).toHaveLength(2);
      expect(waitedMs).toHaveLength(2);
    },
  );

  test('gives up after a bounded number of attempts', async () => {
    const away = openedLog();
    away.faults = () => ({ type: 'refuse' });
    await expect(executeCommand(away, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect(away.appends).toBe(10);
    let foreign = 0;
    const busy = openedLog();
    busy.faults = () => ({ type: 'precede', events: foreignGrant(++foreign) });
    await expect(executeCommand(busy, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME })).rejects.toThrow(
      /30 attempts conflicted/,
    );
    expect(busy.appends).toBe(30);
  });

  test('comes through where other writers come before it 29 times', async () => {
    const busy = openedLog(...Array.from({ length: 29 }, (_, at) => precededBy(at)));
    expect(await executeCommand(busy, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME })).toMatchObject({
      type: 'done',
      revision: 30,
    });
    expect(Math.max(...waitedMs)).toBeLessThanOrEqual(200);
  });

  test('that the log will never take is not tried again', async () => {
    const log = openedLog({ type: 'reject' });
    await expect(executeCommand(log, ACCOUNT, grant, OPERATOR, RECORDING, { timing: TIME })).rejects.toMatchObject({
      kind: 'invalid',
    });
    expect(log.appends).toBe(1);
  });
});

describe('an account that is loaded', () => {
  test('is unopened where its stream has no events', async () => {
    expect(await loadAccount(new MemoryEventLog(), ACCOUNT)).toEqual(UNOPENED);
    expect(UNOPENED.revision).toBe(NO_STREAM);
  });

  test('goes on from a snapshot', async () => {
    const log = openedLog();
    const snapshot = await loadAccount(log, ACCOUNT);
    log.write(STREAM, foreignGrant(1));
    const read = vi.spyOn(log, 'readStream');
    expect(await loadAccount(log, ACCOUNT, snapshot)).toEqual(await loadAccount(log, ACCOUNT));
    expect(read.mock.calls[0]).toEqual([STREAM, { from: 1 }]);
  });

  test('is not loaded where a revision is missing', async () => {
    const log = openedLog();
    log.write(STREAM, [...foreignGrant(1), ...foreignGrant(2)]);
    const broken = new MemoryEventLog();
    const [first, , third] = log.events;
    if (first === undefined || third === undefined) throw new Error('not written');
    broken.readStream = async function* () {
      yield first;
      yield third;
    };
    await expect(loadAccount(broken, ACCOUNT)).rejects.toThrow(/account-acme: revision 2 follows 0/);
  });

  test('is not loaded where an event of another kind of stream stands in its own', async () => {
    const log = openedLog();
    const recorded = { ...foreignGrant(1)[0], type: 'RelayReleased' };
    log.write(STREAM, [
      {
        id: recorded.id ?? RECORDING.commandId,
        metadata: JSON.stringify({
          schemaVersion: 1,
          commandId: 'c',
          actor: 'test',
          recordedAt: '2026-01-01T00:00:00.000Z',
        }),
        type: recorded.type,
        data: JSON.stringify({ relay: 'r', epoch: 1 }),
      } as never,
    ]);
    await expect(loadAccount(log, ACCOUNT, { state: UNOPENED.state, revision: revision(0) })).rejects.toThrow(
      /RelayReleased\): it does not belong there/,
    );
  });
});
