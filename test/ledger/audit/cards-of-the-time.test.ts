import { beforeAll, describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import { type At, altered, type Data, faultsOf, isAt, ledger } from './damaged-ledger.ts';

const CATALOG: At = ['catalog', 0];
const MINUTE = 60_000;

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
