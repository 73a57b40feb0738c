import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountStream } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { Projections } from '../../projections/projections.ts';
import { unstatedAccountsIn } from '../../projections/unstated-accounts.ts';
import { ACCOUNT, keyIssued, lifeWith, ms, openAccount, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { STATEMENTS } from '../fixtures/ledger/example-statements.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { viewsFile } from './example-ledger.ts';

it('an account of whose later month something stands before its statement, and nothing behind it, has a month to be closed', async () => {
  for (const [day, found] of [
    ['2026-12-01', 1],
    ['2026-11-30', 0],
  ] as const) {
    const at = { startedAt: `${day}T00:00:00.000Z`, finishedAt: `${day}T00:00:01.000Z` };
    const life = lifeWith([opened, keyIssued()], usageOf(1, 7, at));
    const [closed] = STATEMENTS;
    if (closed?.type !== 'StatementClosed') throw new Error('the example is no statement');
    const whole = { lastRevision: life.length - 1, firstRevision: 0, closing: microUsd(openAccount(life).balance) };
    const statement: AccountEvent = { ...closed, data: { ...closed.data, ...whole } };
    const log = new MemoryEventLog();
    const recording = recordingBy('test', ms('2026-12-05T00:00:00.000Z'));
    log.write(accountStream(ACCOUNT), encodeEvents([...life, statement], recording));
    const path = viewsFile();
    const projections = await Projections.start({ log, path, persist: true });
    await projections.whenCaughtUp();
    await projections.close();
    const unstated = [];
    for await (const one of unstatedAccountsIn(path, '2026-12')) unstated.push(one.accountId);
    expect(unstated.length).toBe(found);
  }
});
