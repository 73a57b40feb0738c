import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { attemptId, paymentId } from '../../../contracts/ids.ts';
import type { AccountCommand, CommandOf } from '../../../ledger/account/commands.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  granted,
  keyIssued,
  lifeWith,
  ms,
  OPENED_AT,
  opened,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { faultsOf } from './account-faults.ts';

const NOW = ms('2026-11-20T10:00:00.000Z');
const HOUR = 3_600_000;
const configure = (change: Partial<CommandOf<'ConfigureAutoReload'>> = {}): AccountCommand => ({
  ...{ type: 'ConfigureAutoReload', threshold: usd(5_000_000), target: usd(20_000_000), monthlyCap: usd(50_000_000) },
  ...{ consentedAtMs: NOW, by: 'owner@example.com', ...change },
});
const save: AccountCommand = {
  ...{ type: 'SavePaymentMethod', provider: 'stripe', customerId: 'cus_1', paymentMethodId: 'pm_1', brand: 'visa' },
  ...{ last4: '4242', consentedAtMs: ms(OPENED_AT), by: 'owner@example.com' },
};
const reload = (id: string, nowMs = NOW): AccountCommand => ({
  ...{ type: 'StartAutoReload', attemptId: attemptId(id), provider: 'stripe', nowMs },
});
const fail = (id: string, nowMs = NOW, isTerminal = false): AccountCommand => ({
  ...{ type: 'RecordPaymentFailure', attemptId: attemptId(id), code: 'card_declined', isTerminal, nowMs },
});
function lived(life: readonly AccountEvent[], ...commands: readonly AccountCommand[]): AccountEvent[] {
  const events = [...life];
  for (const command of commands) events.push(...given(...events).decided(command));
  return events;
}
/** The last of a type says something else. */
function saying(life: readonly AccountEvent[], type: AccountEvent['type'], change: object): AccountEvent[] {
  const last = life.findLastIndex((event) => event.type === type);
  expect(last).not.toBe(-1);
  return life.map((event, at) =>
    at === last ? ({ ...event, data: { ...event.data, ...change } } as AccountEvent) : event,
  );
}

const low = lived([opened, keyIssued(), granted('g', 4_999_995)], configure(), save);
/** Seven are owed. */
const owing = lifeWith(lived([opened, keyIssued(), granted('g', 900)], configure(), save), usageOf(1, 907));
/** What is over is not to be spent any more. */
const over = [...low, granted('h', 900, { expiresAt: '2026-11-19T00:00:00.000Z' })];
const started = lived(low, reload('r1'));
const failed = lived(started, fail('r1'));
/** The fourth in vain is the last. */
const paused = [0, 1, 3, 7].reduce(
  (life, hours) => lived(life, reload(`r${hours}`, NOW + hours * HOUR), fail(`r${hours}`, NOW + hours * HOUR)),
  low,
);
const pay = (id: string): AccountCommand => ({
  ...{ type: 'RecordPayment', attemptId: attemptId(id), provider: 'stripe', paymentId: paymentId(`pi_${id}`) },
  ...{ amount: usd(15_010_000), paidAtMs: NOW, nowMs: NOW },
});

it('finds nothing wrong with reloads as they are decided', () => {
  for (const life of [
    started,
    failed,
    paused,
    lived(owing, reload('r1')),
    lived(over, reload('r1')),
    lived(started, fail('r1', NOW, true)),
  ])
    expect(faultsOf(life)).toEqual([]);
  const spent = lifeWith(lived(started, fail('r1'), pay('r1')), usageOf(1, 16_000_000));
  expect(faultsOf(lived(spent, reload('r2'), fail('r2')))).toEqual([]);
  expect(faultsOf(lived(paused, reload('x', NOW + 100 * HOUR), save, reload('x', NOW + 100 * HOUR)))).toEqual([]);
});

it.each<[string, AccountEvent[], AccountEvent['type'], object, RegExp]>([
  [
    'another balance',
    started,
    'AutoReloadStarted',
    { balance: usd(5) },
    /^r1: what could be spent before it is 0\.000005 /,
  ],
  [
    'what is owed',
    lived(owing, reload('r1')),
    'AutoReloadStarted',
    { balance: usd(7) },
    /^r1: what could be spent .* should be 0\.0000/,
  ],
  [
    'something pending',
    started,
    'AutoReloadStarted',
    { pending: usd(5) },
    /^r1: what was open before it is 0\.000005 /,
  ],
  [
    'another amount',
    started,
    'AutoReloadStarted',
    { amount: usd(15_000_005), price: usd(15_000_005) },
    /^r1: what is bought is 15\.000005 USD, should be 15\.010000/,
  ],
  [
    'a start above the threshold',
    started,
    'CreditsGranted',
    { amount: usd(5_000_001) },
    /^r1: begun, and none may be: 5\.000001 USD are left/,
  ],
  [
    'a start beyond the cap',
    started,
    'AutoReloadConfigured',
    { monthlyCap: usd(15_009_999) },
    /^r1: begun, and none may be: cap$/,
  ],
  [
    'a start without consent',
    started,
    'AutoReloadConfigured',
    { consentedAt: null },
    /^r1: begun, and none may be: disabled$/,
  ],
  [
    'another wait',
    failed,
    'PaymentFailed',
    { nextAttemptAt: '2026-11-20T10:30:00.000Z' },
    /^r1: when another may be begun is 2026-11-20T10:30/,
  ],
  [
    'no other attempt',
    failed,
    'PaymentFailed',
    { nextAttemptAt: null },
    /^r1: when another may be begun is never, should be 2026-11-20T11:00/,
  ],
  [
    'another word for whether it can be mended',
    failed,
    'PaymentFailed',
    { isTerminal: true },
    /^r1: failed for good, and auto-reload is not paused$/,
  ],
  [
    'another attempt behind the fourth',
    paused,
    'PaymentFailed',
    { nextAttemptAt: '2026-11-21T10:00:00.000Z' },
    /^r7: when another may be begun is 2026-11-21T10:00.* should be never$/,
  ],
  [
    'another reason for its pause',
    paused,
    'AutoReloadPaused',
    { reason: 'x' },
    /^r7: reason of its AutoReloadPaused is x, should be card_declined$/,
  ],
])('tells of a reload that says %s', (_what, life, type, change, fault) => {
  expect(faultsOf(saying(life, type, change))).toContainEqual(expect.stringMatching(fault));
});

it.each<[string, AccountCommand[], string, string]>([
  ['is suspended', [{ type: 'SuspendAccount', reason: 'x' }], 'suspended', 'cap'],
  ['has no card', [{ type: 'RemovePaymentMethod', by: 'x', nowMs: NOW }], 'no_payment_method', 'disabled'],
  ['waits', [reload('r1'), fail('r1')], 'backoff', 'pending'],
])('tells of another reason for none while an account %s', (_what, commands, reason, other) => {
  const life = lived(low, ...commands, reload('r2'));
  expect(life.at(-1)).toMatchObject({ type: 'AutoReloadSkipped', data: { reason } });
  expect(faultsOf(life)).toEqual([]);
  expect(faultsOf(saying(life, 'AutoReloadSkipped', { reason: other }))).toContainEqual(
    `auto-reload: why it is skipped is ${other}, should be ${reason}`,
  );
  const begun = saying(started, 'AutoReloadStarted', { attemptId: 'r3' }).slice(-1);
  expect(faultsOf([...life.slice(0, -1), ...begun])).toContainEqual(`r3: begun, and none may be: ${reason}`);
});

it.each([
  ['other terms', low, configure({ monthlyCap: usd(40_000_000), consentedAtMs: NOW + 1 }), []],
  ['the same terms', paused, configure({ consentedAtMs: NOW + 8 * HOUR }), ['no reload has failed for good']],
  ['its end', low, configure({ consentedAtMs: null }), ['no reload has failed for good']],
])('takes a pause behind %s or tells of it', (_, life, command, told) => {
  const configured = lived(life, command);
  expect(configured.at(-1)?.type).toBe('AutoReloadConfigured');
  const at = new Date(NOW + 1).toISOString();
  const faults = faultsOf([...configured, { type: 'AutoReloadPaused', data: { reason: 'lost_card', at } }]);
  expect(faults).toEqual(told.map((one) => `auto-reload: paused, and ${one}`));
});

it('tells of a pause that nothing has led to', () => {
  expect(faultsOf([...failed, { type: 'AutoReloadPaused', data: { reason: 'x', at: OPENED_AT } }])).toContainEqual(
    'auto-reload: paused, and no reload has failed for good',
  );
});
