import { describe, expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { HiddenStreamError, type ProposedEvent, type RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, CATALOG_STREAM, commandId, keyId } from '../../contracts/ids.ts';
import { Projections } from '../../projections/projections.ts';
import { exampleOf } from '../fixtures/ledger/example-events.ts';
import type { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout, passing, turns } from '../fixtures/ledger/turns.ts';
import { dump, execute, positionOf, viewsFile, writeLives, writeTo } from './example-ledger.ts';
import { A, ALL, caughtUp, head, LIVES, logOf, start, written } from './started-projections.ts';

inTurnsThroughout();

const B = accountId('a1');
const STREAM = accountStream(A);
const METADATA = '{"schemaVersion":1,"commandId":"c","actor":"a","recordedAt":"2026-11-05T10:00:00.000Z"}';
const NEWER = METADATA.replace(':1,', ':99,');
const GONE = {
  type: 'ApiKeyRevoked',
  data: { keyId: keyId('key_none'), revokedAt: '2026-11-05T10:00:00.000Z' },
} as const;

const GRANTED = {
  ...{ grantId: 'grant_dear', source: 'purchase', amount: '1', costBasis: '0', priority: 1 },
  ...{ effectiveAt: '2026-11-05T10:00:00.000Z', expiresAt: null },
};

let made = 0;
const stored = (event: Partial<ProposedEvent>): ProposedEvent => {
  const uuid = commandId(`019a5b3c-9999-7000-8000-${(++made).toString(16).padStart(8, '0')}0000`);
  const [valid] = encodeEvents([{ type: 'PlanChanged', data: { plan: 'team', terms: null } }], {
    commandId: uuid,
    actor: 'test',
    recordedAt: '2026-11-05T10:00:00.000Z',
  });
  if (valid === undefined) throw new Error('no event');
  // Of the first version, as are the types that are put in its place.
  const metadata = valid.metadata.replace('"schemaVersion":2', '"schemaVersion":1');
  return { ...valid, metadata, data: '{"plan":"team"}', ...event };
};

const UNREADABLE: readonly (readonly [what: string, event: Partial<ProposedEvent>, reason: RegExp])[] = [
  ['whose data is no JSON', { data: '{"cut' }, /\(PlanChanged\): its data is not JSON/],
  ['whose metadata is no JSON', { metadata: '' }, /its metadata is not JSON/],
  ['of an unknown type', { type: 'OrderPlaced' }, /\(OrderPlaced\): unknown type "OrderPlaced"/],
  ['of a newer program', { metadata: NEWER }, /schema version 99 is newer than this program's 2/],
  ['that fails its schema', { data: '{"plan":7}' }, /plan: /],
  ['of another stream', { type: 'RelayReleased', data: '{"relay":"r","epoch":1}' }, /it does not belong there/],
  [
    'that cannot follow what stands before it',
    { type: GONE.type, data: JSON.stringify(GONE.data) },
    /it cannot follow what stands before it: account a0 has no key key_none/,
  ],
  [
    'that says what is so already',
    { type: 'CreditsGranted', data: JSON.stringify({ ...GRANTED, grantId: 'trial' }) },
    /it cannot follow what stands before it: trial is granted twice/,
  ],
];

const revisionOf = ({ accounts }: Projections, id = A): number => accounts.read(id).revision;
const whyOf = ({ accounts }: Projections): string | null => accounts.whyAside(A);
const lastOf = (log: MemoryEventLog, id = A): RecordedEvent => {
  const last = log.events.filter(({ stream }) => stream === accountStream(id)).at(-1);
  if (last === undefined) throw new Error('an empty stream');
  return last;
};
const planned = (plan: string): AccountEvent => ({ type: 'PlanChanged', data: { plan, terms: null } });

/** Only A is refused, with stream, revision and reason, and B has what came behind. */
function expectOnlyA(projections: Projections, { at, reason }: { at: number; reason: RegExp }): void {
  expect(whyOf(projections)).toMatch(reason);
  expect(whyOf(projections)).toContain(`${STREAM} revision ${at}`);
  expect(projections.accounts.setAside.count).toBe(1);
  expect(revisionOf(projections)).toBe(at - 1);
  expect(projections.accounts.read(B).state).toMatchObject({ plan: 'behind' });
}

describe.each(UNREADABLE)('an event of an account %s', (_, event, reason) => {
  it('sets the account aside when all is replayed, and the others go on', async () => {
    const log = logOf();
    log.write(STREAM, [stored(event)]);
    const at = lastOf(log).revision;
    writeTo(log, A, [planned('later')]);
    writeTo(log, B, [planned('behind')]);
    const { projections, stopped } = await caughtUp(log, viewsFile(), false);
    expectOnlyA(projections, { at, reason });
    expect([stopped, positionOf(projections)]).toEqual([[], head(log)]);
  });
});

describe.each(UNREADABLE.slice(-3))('an event of an account %s', (_, event, reason) => {
  it('does so while the views follow the log, is known from the first moment of a restart on, and is over once it can be read', async () => {
    const log = logOf(0, 9);
    const path = viewsFile();
    const first = await caughtUp(log, path);
    log.write(STREAM, [stored(event)]);
    const bad = lastOf(log);
    writeTo(log, A, [planned('later')]);
    writeTo(log, B, [planned('behind')]);
    await passing(first.projections.whenAt(head(log)));
    expectOnlyA(first.projections, { at: bad.revision, reason });
    await first.close();

    const second = await start(log, path);
    expectOnlyA(second.projections, { at: bad.revision, reason });
    await passing(second.projections.whenCaughtUp());
    writeTo(log, A, [planned('much later')]);
    await passing(second.projections.whenAt(head(log)));
    expectOnlyA(second.projections, { at: bad.revision, reason });
    await second.close();

    // The same event, for a program that can read it.
    Object.assign(bad, stored({ id: bad.id }));
    const third = await start(log, path);
    const returned: string[] = [];
    third.projections.accounts.onReturned((id) => returned.push(id));
    expect(whyOf(third.projections)).toMatch(reason);
    await passing(third.projections.whenCaughtUp());
    expect([whyOf(third.projections), revisionOf(third.projections)]).toEqual([null, lastOf(log).revision]);
    expect([returned, third.projections.accounts.setAside.count]).toEqual([[A], 0]);
    writeTo(log, A, [planned('now')]);
    await passing(third.projections.whenAt(head(log)));
    expect(third.projections.accounts.read(A).state).toMatchObject({ plan: 'now' });
    expect([...first.stopped, ...second.stopped, ...third.stopped]).toEqual([]);
    await third.close();
    const rebuilt = await caughtUp(log, viewsFile(), false);
    expect(rebuilt.projections.accounts.read(A)).toEqual(third.projections.accounts.read(A));
  });
});

it('an event that makes a sum of which no row could be read again sets its account aside, and a restart has the others', async () => {
  const [log, path] = [logOf(), viewsFile()];
  const dear = (grantId: string) => JSON.stringify({ ...GRANTED, grantId, amount: '9'.repeat(60) });
  log.write(STREAM, [stored({ type: 'CreditsGranted', data: dear('grant_dear') })]);
  log.write(STREAM, [stored({ type: 'CreditsGranted', data: dear('grant_dearer') })]);
  writeTo(log, B, [planned('behind')]);
  await written(log, path);
  const damages: string[] = [];
  const projections = await passing(
    Projections.start({ log, path, persist: false, onDamaged: (why) => damages.push(why) }),
  );
  const reason = /it cannot follow what stands before it: an amount would have more than 60 digits/;
  // The first of them where the account has something already.
  const at = projections.accounts.setAside.unreadableFrom(A) ?? -1;
  expect([lastOf(log).revision - 1, lastOf(log).revision]).toContain(at);
  expectOnlyA(projections, { at, reason });
  expect(damages).toEqual([]);
  await passing(projections.close());
});

describe('an account that is set aside', () => {
  it('leaves nothing behind in the views of whom it is served again', async () => {
    const [log, path, other] = [logOf(0, 9), viewsFile(), viewsFile()];
    log.write(STREAM, [stored({ metadata: NEWER })]);
    await written(log, path);
    expect(dump(path).filter((row) => row.startsWith('set_aside_v1'))).toHaveLength(1);
    Object.assign(lastOf(log), { metadata: METADATA });
    writeLives(log, new Map([...LIVES].slice(1)), 9, ALL);
    for (const file of [path, other]) await written(log, file);
    expect(dump(path)).toEqual(dump(other));
  });

  it('is known by its keys, also those that were issued behind the event', async () => {
    const log = logOf(0, 9);
    log.write(STREAM, [stored({ metadata: NEWER })]);
    const key = exampleOf('ApiKeyIssued');
    const sha256 = 'f'.repeat(64);
    writeTo(log, A, [{ ...key, data: { ...key.data, sha256 } }]);
    const { projections } = await caughtUp(log);
    expect(projections.accounts.keys.find(sha256)).toMatchObject({ accountId: A });
  });

  it('because its stream is hidden is known from the first moment of a restart on, too', async () => {
    const [log, path] = [logOf(0, 9), viewsFile()];
    const first = await caughtUp(log, path);
    first.projections.accounts.putAside(A, new HiddenStreamError(accountStream(A), 'its stream was deleted'));
    writeTo(log, A, [planned('later')]);
    await passing(first.projections.whenAt(head(log)));
    await first.close();
    const { projections } = await start(log, path);
    expect([whyOf(projections), projections.accounts.setAside.accountsOf('hidden')]).toEqual([
      'its stream was deleted',
      [A],
    ]);
    // What is hidden is folded all the same, and what was told as hidden is not read again as unreadable.
    await passing(projections.whenCaughtUp());
    expect([whyOf(projections), revisionOf(projections)]).toEqual(['its stream was deleted', lastOf(log).revision]);
  });

  it('is told, when it is set aside and when it is not any more', async () => {
    const log = logOf(0, 9);
    const { projections } = await start(log, viewsFile());
    const told: unknown[] = [];
    projections.accounts.setAside.onChanged((id, why) => told.push([id, why]));
    await passing(projections.whenCaughtUp());
    log.write(STREAM, [stored({ type: 'OrderPlaced' })]);
    writeTo(log, A, [planned('later')]);
    await passing(projections.whenAt(head(log)));
    expect(told).toEqual([[A, expect.stringContaining('unknown type "OrderPlaced"')]]);
    const bad = log.events.find(({ type }) => type === 'OrderPlaced');
    Object.assign(bad ?? {}, stored({}));
    await passing(projections.readAgain(A));
    expect(told.slice(1)).toEqual([[A, null]]);
  });
});

it('views that were written before accounts were set aside are gone on from', async () => {
  const [log, path] = [logOf(), viewsFile()];
  await written(log, path);
  execute(
    path,
    `DROP TABLE set_aside_v1; DELETE FROM stored_view WHERE name = 'set_aside'; DELETE FROM stamped WHERE name = 'set_aside_v1'`,
  );
  const { projections } = await start(log, path);
  expect(revisionOf(projections)).toBe(lastOf(log).revision);
  await passing(projections.whenCaughtUp());
});

describe('an account of which the log itself lacks an event', () => {
  const lacking = (): MemoryEventLog => {
    const log = logOf();
    writeTo(log, B, [planned('behind')]);
    log.events.splice(
      log.events.findIndex(({ stream, revision }) => stream === STREAM && revision === 3),
      1,
    );
    return log;
  };

  it('is set aside, and nobody else', async () => {
    const log = lacking();
    const read = log.readStream.bind(log);
    log.readStream = async function* (stream, options) {
      for await (const one of read(stream, options)) if (stream !== STREAM || one.revision !== 3) yield one;
    };
    const { projections, stopped } = await caughtUp(log, viewsFile(), false);
    expect(whyOf(projections)).toBe(`revision 4 of ${STREAM} came, and revision 3 did not`);
    expect([stopped, projections.accounts.read(B).state]).toMatchObject([[], { plan: 'behind' }]);
  });

  it('is read from its stream, where that has it', async () => {
    const log = lacking();
    const { projections } = await caughtUp(log, viewsFile(), false);
    expect([whyOf(projections), revisionOf(projections)]).toEqual([null, lastOf(log).revision]);
  });
});

it('an event of the catalog that cannot be read stops all views', async () => {
  const log = logOf();
  const { stopped } = await caughtUp(log);
  log.write(CATALOG_STREAM, [stored({ type: 'CatalogPublished', data: '{"cut' })]);
  await turns();
  expect(stopped.map(({ message }) => message)).toEqual([
    'catalog revision 0 (CatalogPublished): its data is not JSON',
  ]);
});
