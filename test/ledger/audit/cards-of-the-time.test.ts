import { beforeAll, describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { type At, altered, type Data, faultsOf, isAt, ledger } from './damaged-ledger.ts';

const CATALOG: At = ['catalog', 0];
const MINUTE = 60_000;

/** Of the first request of account ada by the second version. */
const USAGE: At = ['account-acct_ada', 21];
const cardIn = (catalog: At, model: string): Data =>
  JSON.parse(ledger.find((event) => isAt(event, catalog))?.data ?? '').models.find(
    (one: { readonly id: string }) => one.id === model,
  ).rateCard;

/** The ledger with the usage changed, which may become another event, or lose its debit. */
const withUsage = (change: (usage: Data) => Data, { type = 'UsageRecorded', hasDebit = true } = {}): RecordedEvent[] =>
  ledger.flatMap((event) => {
    if (!hasDebit && isAt(event, ['account-acct_ada', 22])) return [];
    return [isAt(event, USAGE) ? { ...event, type, data: JSON.stringify(change(JSON.parse(event.data))) } : event];
  });
const unpublished = ({ rateCard, ...usage }: Data): Data => ({
  ...usage,
  rateCard: { ...(rateCard as Data), version: 9, hash: 'a3'.repeat(32) },
});

it('tells of a request that names the rate card of another model, though a catalog has it', () => {
  const { id, version, hash } = cardIn(['catalog', 1], 'opal-fast');
  expect(faultsOf(withUsage((usage) => ({ ...usage, rateCard: { id, version, hash } })))).toContainEqual(
    expect.stringMatching(/^account-acct_ada 22: req_\w+: names the rate card of opal-fast, and is of opal-medium$/),
  );
});

it('tells of a rate card that no catalog has published, also of a request without a debit, or reported late', () => {
  const found = (at: number) =>
    expect.stringMatching(
      `^account-acct_ada ${at}: req_\\w+: names version 9 of the rate card opal-medium, which no catalog has published$`,
    );
  expect(faultsOf(withUsage(unpublished))).toContainEqual(found(22));
  expect(faultsOf(withUsage(unpublished, { hasDebit: false }))).toContainEqual(found(21));
  const late = (data: Data): Data => {
    const usage = { ...unpublished(data), uses: {}, unpriced: [], hold: null };
    return { requestId: `req_${'a3'.repeat(16)}`, usage, cost: '0', lines: [], uses: [] };
  };
  const faults = faultsOf(withUsage(late, { type: 'LateUsageReported' }));
  expect(faults).toContainEqual(expect.stringMatching(/: the request whose usage came late is req_01a2/));
  expect(faults).toContainEqual(
    expect.stringMatching(/^account-acct_ada 21: req_a3\w+: names version 9 .* which no catalog has published$/),
  );
});

it('tells of a version of a rate card that is published once more, with other prices', () => {
  const { hash } = cardIn(CATALOG, 'opal-fast');
  const cheaper = altered(['catalog', 1], (data) => ({
    ...data,
    models: (data.models as { id: string; rateCard: Data }[]).map((model) =>
      model.id === 'opal-fast'
        ? { ...model, rateCard: { ...model.rateCard, rates: { ...(model.rateCard.rates as Data), input: '1' } } }
        : model,
    ),
  }));
  expect(faultsOf(cheaper)).toContainEqual(
    expect.stringMatching(`^catalog 1: rate card opal-fast 1, published before is [0-9a-f]{64}, should be ${hash}$`),
  );
});

describe('holds a request to the prices of when it started', () => {
  /** The first request by the second version, as though it had been by the first, so long after the second came. */
  function namedLate(afterMs: number): string[] {
    const started = Date.parse(String(JSON.parse(usage.data).startedAt));
    return faultsOf(
      ledger.map((event) => {
        if (isAt(event, CATALOG_2)) return withData(event, { publishedAt: new Date(started - afterMs).toISOString() });
        return event === usage ? withData(event, { rateCard: firstCard() }) : event;
      }),
    );
  }
  const CATALOG_2: At = ['catalog', 1];
  const withData = (event: RecordedEvent, change: Data): RecordedEvent => ({
    ...event,
    data: JSON.stringify({ ...JSON.parse(event.data), ...change }),
  });
  let usage: RecordedEvent;
  beforeAll(() => {
    usage = ledger.find(
      ({ type, data }) => type === 'UsageRecorded' && JSON.parse(data).rateCard.version === 2,
    ) as RecordedEvent;
  });
  function firstCard(): Data {
    const { id } = JSON.parse(usage.data).rateCard;
    const catalog = JSON.parse(ledger.find((event) => isAt(event, CATALOG))?.data ?? '');
    const { rateCard } = catalog.models.find((model: { rateCard: { id: string } }) => model.rateCard.id === id);
    return { id, version: 1, hash: rateCard.hash };
  }
  const OUT_OF_TIME = /: req_\w+: starts at \S+, and names version \d of the rate card \S+, in force from \S+ to \S+$/;

  it('and tells of an older version long after a newer one was published', () => {
    expect(namedLate(30 * MINUTE)).toContainEqual(expect.stringMatching(OUT_OF_TIME));
  });

  it('but not while a proxy without the log may still have known only the older', () => {
    expect(namedLate(24 * MINUTE)).not.toContainEqual(expect.stringMatching(OUT_OF_TIME));
  });

  it('and tells of a version that was published long after', () => {
    const started = Date.parse(String(JSON.parse(usage.data).startedAt));
    const late = new Date(started + 30 * MINUTE).toISOString();
    const faults = faultsOf(
      ledger.map((event) => (isAt(event, CATALOG_2) ? withData(event, { publishedAt: late }) : event)),
    );
    expect(faults).toContainEqual(expect.stringMatching(OUT_OF_TIME));
  });

  it('and the versions of a card to follow one another', () => {
    const skipped = altered(CATALOG_2, (data) =>
      JSON.parse(JSON.stringify(data).replace(/"version":2,"hash"/g, '"version":7,"hash"')),
    );
    expect(faultsOf(skipped)).toContainEqual(
      expect.stringMatching(/^catalog 1: the version of rate card \S+ is 7, should be 2$/),
    );
  });
});
