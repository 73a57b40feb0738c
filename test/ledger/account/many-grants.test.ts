import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import { accountStream, commandId } from '../../../contracts/ids.ts';
import { LIMITS } from '../../../contracts/limits.ts';
import { microUsd } from '../../../contracts/money.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { spendable } from '../../../ledger/account/leases.ts';
import { refuseAppend } from '../../../ledger/event-log/append-bounds.ts';
import {
  ACCOUNT,
  debitIn,
  grant,
  granted,
  ms,
  openAccount,
  opened,
  record,
  usageOf,
} from '../../fixtures/ledger/example-account.ts';
import { PlainLedger } from '../../fixtures/ledger/plain-ledger.ts';

const EACH = 1_000;
const END = '2026-12-01T00:00:00.000Z';
const NOW = ms('2026-11-07T00:00:00.000Z');

/** Ids of one length each: as the gateway makes them up, and the longest that an operator can give. */
const IDS = {
  'made up': (index: number) => `grant_${index.toString(16).padStart(16, '0')}`,
  'the longest': (index: number) => '語'.repeat(LIMITS.operatorTextMax - 8) + String(index).padStart(8, '0'),
};

const shareBytes = (id: string): number => Buffer.byteLength(`{"grantId":"${id}","amount":"${EACH}"},`);
/** As many grants as one debit can name. */
const most = (idOf: (index: number) => string): number => Math.floor(LIMITS.debitGrantsBytesMax / shareBytes(idOf(0)));
const grants = (idOf: (index: number) => string, count: number, expiresAt: string | null = null): AccountEvent[] =>
  Array.from({ length: count }, (_none, index) => granted(idOf(index), EACH, { expiresAt }));

/** What a command does, which the log takes. */
function done(command: AccountCommand, state: OpenAccount): { events: AccountEvent[]; after: OpenAccount } {
  const events = decide(command, state);
  if ('type' in events) throw new Error(events.message);
  const recording = {
    commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
    actor: 'key_0123456789abcdef',
    recordedAt: '2026-11-05T10:20:31.001Z',
  };
  expect(refuseAppend(accountStream(ACCOUNT), 1, encodeEvents(events, recording))).toBeNull();
  return { events, after: openAccount(events, state) };
}

describe.each(Object.entries(IDS))('an account with as many grants as it may have, their ids %s,', (_title, idOf) => {
  const all = [opened, ...grants(idOf, most(idOf))];

  it('is granted no more until one is spent, and is told why', () => {
    const state = openAccount(all);
    const count = most(idOf);
    expect(decide(grant(idOf(99_999_999), EACH), state)).toMatchObject({
      type: 'refused',
      code: 'too_many_grants',
      message: expect.stringMatching(
        new RegExp(`^the account has ${count} grants with something left, .* larger ones$`),
      ),
    });
    const { after } = done(record(usageOf(1, EACH)), state);
    done(grant('one more', EACH), after);
  });

  it('has a debit that takes all of them, in one event', () => {
    const { events, after } = done(record(usageOf(1, EACH * most(idOf))), openAccount(all));
    const debit = debitIn(events);
    expect(debit.grants).toHaveLength(most(idOf));
    expect(debit).toMatchObject({ uncovered: 0n, balanceAfter: 0n });
    expect(spendable(after, NOW)).toBe(0n);
  });

  it('has what expires written off, an append after the other', () => {
    const count = Math.min(most(idOf), 300);
    let state = openAccount([opened, ...grants(idOf, count, END)]);
    const command = {
      type: 'ExpireCredits',
      lateMs: LIMITS.expiryLateMs,
      nowMs: ms(END) + LIMITS.expiryLateMs,
    } as const;
    for (let left = count; left > 0; left -= LIMITS.expiriesPerAppendMax) {
      const { events, after } = done(command, state);
      expect(events).toHaveLength(Math.min(left, LIMITS.expiriesPerAppendMax));
      state = after;
    }
    expect(decide(command, state)).toEqual([]);
    expect(state.balance).toBe(0n);
  });
});

describe('an account that has more grants from before', () => {
  const idOf = IDS['made up'];
  const MORE = 500;
  const life = [opened, ...grants(idOf, most(idOf) + MORE)];
  const everything = EACH * (most(idOf) + MORE);

  it('has its debit all the same: what it cannot name is uncovered, spent all the same, and paid by the next grant', () => {
    const plain = new PlainLedger({ input: 20n, output: 1_000_000n, hasFast: false });
    for (const event of life) plain.take(event);
    const first = done(record(usageOf(1, everything - 7 * EACH)), openAccount(life));
    for (const event of first.events) plain.take(event);
    const debit = debitIn(first.events);
    expect(debit.grants).toHaveLength(most(idOf));
    expect(debit.uncovered).toBe(BigInt((MORE - 7) * EACH));
    expect(spendable(first.after, NOW)).toBe(BigInt(7 * EACH));
    // What is left can be spent, from the grants that were not reached.
    const second = done(record(usageOf(2, 7 * EACH)), first.after);
    for (const event of second.events) plain.take(event);
    expect(debitIn(second.events)).toMatchObject({ uncovered: 0n, balanceAfter: 0n });
    expect(spendable(second.after, NOW)).toBe(0n);
    const third = openAccount([granted('paid', EACH * MORE)], second.after);
    expect(third.uncovered).toBe(0n);
    expect(spendable(third, NOW)).toBe(BigInt(EACH * MORE));
  });

  it('that is too many even after a debit is granted what it owes, and no more when it owes nothing', () => {
    const count = 2 * most(idOf) + MORE;
    const { after } = done(record(usageOf(1, EACH * count - 7)), openAccount([opened, ...grants(idOf, count)]));
    const owed = BigInt(EACH * (most(idOf) + MORE) - 7);
    expect(after.uncovered).toBe(owed);
    expect(spendable(after, NOW)).toBe(7n);
    const first = done(grant('first', EACH), after).after;
    expect(first.uncovered).toBe(owed - BigInt(EACH));
    expect(spendable(first, NOW)).toBe(7n + BigInt(EACH));
    const large = grant('large', owed);
    const paid = done(large, first).after;
    expect(paid.uncovered).toBe(0n);
    expect(spendable(paid, NOW)).toBe(7n + BigInt(EACH) + owed);
    expect(decide(grant('another', EACH), paid)).toMatchObject({ code: 'too_many_grants' });
  });

  it('has an exception approved likewise', () => {
    const usage = usageOf(1, everything, { hold: microUsd(0n) });
    const { after } = done(record(usage), openAccount(life));
    const approve = { type: 'ApproveException', requestId: usage.requestId, reason: 'r', actor: 'operator' } as const;
    const [approved] = done(approve, after).events;
    expect(approved).toMatchObject({ type: 'ExceptionApproved', data: { uncovered: BigInt(MORE * EACH) } });
  });
});
