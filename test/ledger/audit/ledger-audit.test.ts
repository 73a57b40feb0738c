import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { EventData } from '../../../contracts/events.ts';
import { commandId, LEDGER_STREAM, ledgerId, position, revision } from '../../../contracts/ids.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';
import { type At, altered, type Data, faultsOf, isAt, ledger, put, replaced } from './damaged-ledger.ts';

/** A debit of other lines, in itself without a fault. */
function repriced(data: Data, rateOf: (line: Line) => bigint): Data {
  const lines = (data.lines as Line[]).map((line) => {
    const rate = rateOf(line);
    return { ...line, rate: `${rate}`, cost: `${rate * BigInt(line.tokens)}` };
  });
  const cost = lines.reduce((sum, line) => sum + BigInt(line.cost), 0n);
  const exact = cost + BigInt(String(data.carryBefore));
  return { ...data, lines, cost: `${cost}`, amount: `${exact / 1_000_000n}`, carryAfter: `${exact % 1_000_000n}` };
}

interface Line {
  readonly tokenClass: string;
  readonly tokens: number;
  readonly rate: string;
}

const KEY_OF_ADA = 'bc0eddc9730ef903113c8bef157a5aebd7214228a98c691bae0c456a0070110b';
const [PAID] = encodeEvents([exampleOf('PaymentSucceeded')], {
  ...{ commandId: commandId('019a5b3c-9999-7000-8000-000000000000'), actor: 'test' },
  recordedAt: '2026-11-05T10:00:00.000Z',
});
const ada = (at: number): At => ['account-acct_ada', at];
const CATALOG: At = ['catalog', 0];
const number = (value: unknown): number => Number(value);
const shifted = (name: string, by: bigint) => (data: Data) => ({
  ...data,
  [name]: `${BigInt(String(data[name])) + by}`,
});

it('finds nothing wrong with a real ledger', () => {
  expect(faultsOf(ledger)).toEqual([]);
});

describe('disagrees with a broken rating', () => {
  it('that drops the carry', () => {
    const faults = faultsOf(
      altered(ada(22), (data) => repriced({ ...data, carryBefore: '0' }, ({ rate }) => BigInt(rate))),
    );
    expect(faults[0]).toMatch(
      /^account-acct_ada 22: req_\w+: carry before is 0\.0{12} USD, should be 0\.000000049539 USD$/,
    );
  });

  it('that prices a 1-hour cache as one of 5 minutes', () => {
    const cheap = (line: Line) => (line.tokenClass === 'cacheWrite1h' ? 4_375_025n : BigInt(line.rate));
    const faults = faultsOf(altered(ada(20), (data) => repriced(data, cheap)));
    expect(faults[0]).toMatch(
      /^account-acct_ada 20: req_\w+: lines is .*cacheWrite1h \d+ x 0\.000004375025 USD .* should be .*x 0\.000007000040 USD /,
    );
  });

  it('that doubles the fast lane twice', () => {
    const faults = faultsOf(altered(ada(24), (data) => repriced(data, ({ rate }) => BigInt(rate) * 2n)));
    expect(faults[0]).toMatch(
      /^account-acct_ada 24: req_\w+: lines is input \d+ x 0\.000004000080 USD .* should be input \d+ x 0\.000002000040 USD /,
    );
  });

  it('that takes the prices of another version of the card', () => {
    const before = (line: Line) => (line.tokenClass === 'input' ? 3_000_000n : BigInt(line.rate));
    expect(faultsOf(altered(ada(31), (data) => repriced(data, before)))[0]).toMatch(/ 31: req_\w+: lines is /);
    const named = (data: Data) => ({ ...data, rateCard: { ...(data.rateCard as Data), version: 1 } });
    expect(faultsOf(altered(ada(30), named))[0]).toMatch(/^account-acct_ada 31: req_\w+: names \S+ 1 by the hash /);
  });

  it('that burns another grant first', () => {
    const grants = ledger.filter(({ stream, type }) => stream === 'account-acct_ada' && type === 'CreditsGranted');
    const other = grants.map(({ data }) => JSON.parse(data).grantId).find((id) => id !== 'grant_trial');
    const swapped = (data: Data) => ({ ...data, grants: [{ grantId: other, amount: data.amount }] });
    const faults = faultsOf(altered(ada(22), swapped));
    expect(faults[0]).toMatch(
      /^account-acct_ada 22: req_\w+: grants is \w+ \d\.\d{6} USD, should be grant_trial \d\.\d{6} USD$/,
    );
  });
});

const LEASED = 'CreditsLeased';
const firstOf = (type: string): At => {
  const found = ledger.find((event) => event.stream === 'account-acct_ada' && event.type === type);
  return ada(found?.revision ?? -1);
};

const NEVER_ISSUED = /^account-acct_ada 21: req_\w+: its key, key_of_another, was never issued$/;

it.each([true, false])(
  'does not ask for a key that may be lost, once the ledger has lost something: first part %s',
  (isFirst) => {
    const started = JSON.parse(ledger.find((event) => isAt(event, ada(21)))?.data ?? '').startedAt;
    const isTold = (afterMs: number | null): boolean => {
      const unknown = ledger.map((event) =>
        isAt(event, ada(21))
          ? { ...event, data: event.data.replace(/"keyId":"\w+"/, '"keyId":"key_of_another"') }
          : event,
      );
      const lost = afterMs === null ? [] : [lossAt(new Date(Date.parse(started) + afterMs).toISOString())];
      return faultsOf([...lost, ...unknown], isFirst).some((fault) => NEVER_ISSUED.test(fault));
    };
    expect([null, -25 * MINUTE, MINUTE].map(isTold)).toEqual([true, true, false]);
  },
);

const MINUTE = 60_000;

function lossAt(recordedAt: string): RecordedEvent {
  const data: EventData<'LossAccepted'> = {
    ...{ ledgerId: ledgerId(`ledger_${'a3'.repeat(16)}`), generation: 2, lost: [], lostLeftOut: 0, untold: null },
    ...{ requests: [], requestsLeftOut: 0, reason: 'gone', actor: 'operator' },
  };
  const recording = { commandId: commandId('019a5b3c-0000-7000-8000-000000000001'), actor: 'operator', recordedAt };
  const [encoded] = encodeEvents([{ type: 'LossAccepted', data }], recording);
  if (encoded === undefined) throw new Error('an event is encoded as one');
  return { ...encoded, stream: LEDGER_STREAM, revision: revision(0), position: position(1) };
}

describe('tells of', () => {
  it.each<[string, () => RecordedEvent[], RegExp]>([
    [
      'a debit that is gone',
      () => replaced(ada(22), () => []),
      /^account-acct_ada 21: req_\w+: charged for, and without a debit$/,
    ],
    [
      'a usage that is gone',
      () => replaced(ada(21), () => []),
      / 21: req_\w+: its debit does not stand right after its usage$/,
    ],
    [
      'a request twice',
      () => replaced(ada(22), (one) => [one, ...ledger.filter((e) => isAt(e, ada(21)) || isAt(e, ada(22)))]),
      /: request req_\w+ stands twice, first at: account-acct_ada 21$/,
    ],
    [
      'the secret of a key twice, in two accounts',
      () => altered(['account-acct_debt', 2], (data) => ({ ...data, sha256: KEY_OF_ADA })),
      /^account-acct_debt 2: the secret of a key, by its SHA-256 bc0e[0-9a-f]{60} stands twice, first at: account-acct_ada 6$/,
    ],
    [
      'a payment twice, in two accounts',
      () =>
        ledger.map((event) =>
          isAt(event, ['account-acct_team', 2]) || isAt(event, ['account-acct_debt', 2])
            ? { ...event, ...PAID }
            : event,
        ),
      /^account-acct_\w+ 2: payment \S+ \S+ stands twice, first at: account-acct_\w+ 2$/,
    ],
    [
      'an event id twice',
      () => ledger.map((event) => (isAt(event, ada(22)) ? { ...event, id: ledger[9]?.id ?? event.id } : event)),
      /: event id \S+ stands twice, first at: /,
    ],
    [
      'an event id of another command',
      () => ledger.map((event) => (isAt(event, ada(22)) ? { ...event, id: ledger[9]?.id ?? event.id } : event)),
      /^account-acct_ada 22: event id is of no event of its command: /,
    ],
    [
      'an event that is gone with its revision',
      () => ledger.filter((event) => !isAt(event, ada(19))),
      /^account-acct_ada 20: revision 20 follows 18$/,
    ],
    [
      'events that have changed places',
      () => {
        const [one, other] = [
          ledger.findIndex((event) => isAt(event, ada(19))),
          ledger.findIndex((event) => isAt(event, ada(20))),
        ];
        return ledger.with(one, ledger[other] as RecordedEvent).with(other, ledger[one] as RecordedEvent);
      },
      /^account-acct_ada 20: revision 20 follows 18$/,
    ],
    [
      'an event that its schema does not take',
      () => altered(ada(22), (data) => ({ ...data, tip: '1' })),
      /^account-acct_ada 22: cannot be read: .*tip/,
    ],
    [
      'an event of a type that there is not',
      () => ledger.map((event) => (isAt(event, ada(22)) ? { ...event, type: 'CreditsStolen' } : event)),
      /^account-acct_ada 22: cannot be read: .*unknown type/,
    ],
    [
      'a name that stands twice in its data',
      () => put(ada(22), (event) => ({ data: event.data.replace('"amount":', '"amount":"7","amount":') })),
      /^account-acct_ada 22: is not as it is written: a name stands in it twice, or something between$/,
    ],
    [
      'a name that stands twice in the data of another',
      () =>
        put(firstOf('CreditsGranted'), (event) => ({
          data: event.data.replace('"amount":', '"amount" :"7","amount":'),
        })),
      /^account-acct_ada 1: is not as it is written: /,
    ],
    [
      'a name that stands twice in what stands beside it',
      () => put(ada(22), (event) => ({ metadata: event.metadata.replace('"actor":', '"actor":"operator","actor":') })),
      /^account-acct_ada 22: is not as it is written: /,
    ],
    [
      'a debit that is moved into the books of another month',
      () =>
        put(ada(22), (event) => ({ metadata: event.metadata.replace('"recordedAt":"2026-1', '"recordedAt":"2026-0') })),
      /^account-acct_ada 22: when CreditsDebited was recorded is 2026-0/,
    ],
    [
      'a request that is free, its debit gone',
      () =>
        replaced(ada(22), () => []).map((event) =>
          isAt(event, ada(21)) ? { ...event, data: event.data.replace('"billable":true', '"billable":false') } : event,
        ),
      /^account-acct_ada 21: req_\w+: whether it is charged for, having ended as completed, is false, should be true$/,
    ],
    [
      "a request by another account's key",
      () =>
        ledger.map((event) =>
          isAt(event, ada(21)) || isAt(event, ada(22))
            ? { ...event, data: event.data.replace(/"keyId":"\w+"/, '"keyId":"key_of_another"') }
            : event,
        ),
      NEVER_ISSUED,
    ],
    [
      'metadata without their command',
      () => ledger.map((event) => (isAt(event, ada(22)) ? { ...event, metadata: '{}' } : event)),
      /^account-acct_ada 22: cannot be read: .*commandId/,
    ],
    [
      'a grant that was edited',
      () => altered(firstOf('CreditsGranted'), shifted('amount', 1_000_000n)),
      /^account-acct_ada 12: req_\w+: balance after is [\d,.]+ USD, should be [\d,.]+ USD$/,
    ],
    [
      'a grant of nothing',
      () => altered(firstOf('CreditsGranted'), (data) => ({ ...data, amount: '0' })),
      /^account-acct_ada 1: grant_trial: nothing is granted$/,
    ],
    [
      'a grant that stands twice',
      () => replaced(firstOf('CreditsGranted'), (one) => [one, one]),
      /^account-acct_ada 2: grant_trial: granted twice$/,
    ],
    [
      'a balance',
      () => altered(ada(22), shifted('balanceAfter', 1n)),
      /^account-acct_ada 22: req_\w+: balance after is /,
    ],
    [
      'a month',
      () => altered(ada(22), shifted('monthToDateAfter', 1n)),
      /^account-acct_ada 22: req_\w+: month to date is /,
    ],
    [
      'a debit of another model',
      () => altered(ada(22), (data) => ({ ...data, model: 'opal-fast' })),
      /^account-acct_ada 22: req_\w+: model is opal-fast, should be opal-medium$/,
    ],
    [
      'a debit of another lane',
      () => altered(ada(22), (data) => ({ ...data, lane: 'fast' })),
      /^account-acct_ada 22: req_\w+: lane is fast, should be standard$/,
    ],
    [
      "an account that is opened in another's stream",
      () => altered(ada(0), (data) => ({ ...data, accountId: 'acct_team' })),
      /^account-acct_ada 0: the account that is opened is acct_team, should be acct_ada$/,
    ],
    [
      'a limit of another scope',
      () => altered(firstOf('SpendLimitSet'), (data) => ({ ...data, scope: data.scope === 'key' ? 'account' : 'key' })),
      /^account-acct_ada \d+: \w+: scope of its limit is \w+, should be \w+$/,
    ],
    [
      "a key's month",
      () => altered(ada(22), shifted('keyMonthToDateAfter', 1n)),
      /^account-acct_ada 22: req_\w+: key's month to date is /,
    ],
    [
      'tokens that were edited',
      () =>
        altered(ada(19), (data) => ({
          ...data,
          tokens: { ...(data.tokens as Data), output: number((data.tokens as Data).output) + 1 },
        })),
      /^account-acct_ada 20: req_\w+: lines is /,
    ],
    [
      'a threshold that nothing tells of',
      () => replaced(firstOf('SpendThresholdCrossed'), () => []),
      /^account-acct_ada 53: a threshold is crossed, and nothing tells of it: \d+% of [\d,.]+ USD by [\d,.]+ USD in \d{4}-\d\d, \w+/,
    ],
    [
      'a threshold that was not crossed',
      () => replaced(firstOf('SpendThresholdCrossed'), (one) => [one, one]),
      /^account-acct_ada 55: a threshold is told of, and nothing has crossed it: /,
    ],
    [
      'a threshold of another limit',
      () => altered(firstOf('SpendThresholdCrossed'), shifted('limit', 1n)),
      /^account-acct_ada 54: the threshold that is crossed is /,
    ],
    [
      'a lease above what is free',
      () => altered(firstOf(LEASED), shifted('amount', 1_000_000_000n)),
      /^account-acct_ada \d+: lease_\w+: what is leased beside what is free is [\d,.]+ USD, should be [\d,.]+ USD$/,
    ],
    [
      'more given back than was leased',
      () => altered(firstOf('LeaseReleased'), shifted('amount', 1n)),
      /^account-acct_ada 15: lease_\w+: [\d,.]+ USD are given back, and it has [\d,.]+ USD$/,
    ],
    [
      'a lease given back twice',
      () => replaced(firstOf('LeaseReleased'), (one) => [one, one]),
      /^account-acct_ada 16: lease_\w+: is given back, and is not there: 0\.674408 USD$/,
    ],
    [
      'an expiry of more than there is',
      () => altered(firstOf('CreditsExpired'), shifted('amount', 1n)),
      /^account-acct_ada \d+: \w+: what expires is [\d,.]+ USD, should be [\d,.]+ USD$/,
    ],
    [
      'an expiry at another end',
      () => altered(firstOf('CreditsExpired'), (data) => ({ ...data, expiredAt: '2026-01-01T00:00:00.000Z' })),
      /: \w+: the end that its expiry names is 2026-01-01/,
    ],
    [
      'a key that is issued twice',
      () => replaced(firstOf('ApiKeyIssued'), (one) => [one, one]),
      /^account-acct_ada \d+: key_\w+: issued twice$/,
    ],
    [
      'a key that is revoked twice',
      () => replaced(firstOf('ApiKeyRevoked'), (one) => [one, one]),
      /^account-acct_ada \d+: key_\w+: revoked twice$/,
    ],
    [
      'a limit that was so already',
      () => replaced(firstOf('SpendLimitSet'), (one) => [one, one]),
      /: its limit is set to what it is already: /,
    ],
    [
      'an account that is opened twice',
      () => replaced(ada(0), (one) => [one, one]),
      /^account-acct_ada 1: the account is opened twice$/,
    ],
    [
      'an account that never was',
      () => replaced(ada(0), () => []),
      /^account-acct_ada 0: CreditsGranted on an account that was never opened$/,
    ],
    [
      'an account that is suspended twice',
      () => {
        const at = ledger.find(({ type }) => type === 'AccountSuspended');
        return replaced([at?.stream ?? '', at?.revision ?? 0], (one) => [one, one]);
      },
      /^account-acct_team \d+: suspended, and it is suspended already$/,
    ],
    [
      'a price that was edited',
      () =>
        altered(CATALOG, (data) => JSON.parse(JSON.stringify(data).replace('"input":"3000000"', '"input":"3000001"'))),
      /^catalog 0: the hash of rate card \S+ 1 is [0-9a-f]{64}, should be [0-9a-f]{64}$/,
    ],
    [
      'a catalog whose hash is of another',
      () => altered(CATALOG, (data) => JSON.parse(JSON.stringify(data).replace('"showcase":false', '"showcase":true'))),
      /^catalog 0: the catalog's hash is /,
    ],
    [
      'a catalog that is gone',
      () => replaced(CATALOG, () => []),
      /^catalog 0: the catalog's version is 2, should be 1$/,
    ],
  ])('%s', (_what, damaged, expected) => {
    expect(faultsOf(damaged())).toContainEqual(expect.stringMatching(expected));
  });
});

it('tells of a figure where it was edited and where the next debit goes on from the true one, and no more', () => {
  expect(faultsOf(altered(ada(22), shifted('balanceAfter', 1n)))).toHaveLength(2);
});
