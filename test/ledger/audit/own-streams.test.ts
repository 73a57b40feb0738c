import { expect, it } from 'vitest';
import { encodeEvents } from '../../../contracts/event-codec.ts';
import type { RecordedEvent } from '../../../contracts/event-log.ts';
import type { DomainEvent, EventData } from '../../../contracts/events.ts';
import {
  accountId,
  accountStream,
  commandId,
  LEDGER_STREAM,
  ledgerId,
  position,
  proxyId,
  proxyStream,
  reconciliationStream,
  relayStream,
  revision,
  SEALS_STREAM,
  type StreamName,
  uuidV7,
} from '../../../contracts/ids.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { exampleOf } from '../../fixtures/ledger/example-events.ts';

/** The streams that are of no account: what can follow what in each. */
const AT = '2026-11-20T10:00:00.000Z';
const BEFORE = '2026-11-20T09:00:00.000Z';
const LATER = '2026-11-20T11:00:00.000Z';

type Written = DomainEvent & { readonly ended?: true };

function faultsOf(stream: StreamName, events: readonly Written[]): string[] {
  const faults: string[] = [];
  const audit = new LedgerAudit({
    onFault: (fault) => faults.push(`${fault.revision}: ${describeFault(fault)}`),
  });
  events.forEach((event, index) => {
    audit.take(recordedOf(stream, event, index));
  });
  audit.end();
  return faults;
}

function recordedOf(stream: StreamName, { ended, ...event }: Written, index: number): RecordedEvent {
  const id = commandId(
    uuidV7(
      Date.parse(AT),
      Uint8Array.from({ length: 10 }, (_, byte) => index >> (8 * byte)),
    ),
  );
  const recording = { commandId: id, actor: 'test', recordedAt: AT, ...(ended ? { reads: {}, ended } : {}) };
  const [encoded] = encodeEvents([event], recording);
  if (encoded === undefined) throw new Error('an event is encoded as one');
  return { ...encoded, stream, revision: revision(index), position: position(index + 1) };
}

const relay = relayStream('ledger');
const claim = (epoch: number, name = 'one', until = BEFORE): Written => ({
  type: 'RelayClaimed',
  data: { relay: name, epoch, until },
});
const checkpoint = (epoch: number, at: number, name = 'one', until = BEFORE): Written => ({
  type: 'RelayCheckpointed',
  data: { relay: name, epoch, position: at, until },
});
const release = (epoch: number, name = 'one'): Written => ({ type: 'RelayReleased', data: { relay: name, epoch } });

const NAME = proxyId('proxy_1');
const proxy = proxyStream(NAME);
const claimed = (epoch: number, instance = `i${epoch}`): Written => ({
  type: 'ProxyClaimed',
  data: { proxy: NAME, epoch, instance, claimedAt: AT },
});
const ended = (epoch: number, instance = `i${epoch}`): Written => ({ ...claimed(epoch, instance), ended: true });

const ID = ledgerId(`ledger_${'a3'.repeat(16)}`);
const OTHER = ledgerId(`ledger_${'b7'.repeat(16)}`);
const identified = (generation = 1): Written => ({
  type: 'LedgerIdentified',
  data: { ledgerId: ID, generation, identifiedAt: AT },
});
const loss = (generation: number, of = ID): Written => ({
  type: 'LossAccepted',
  data: {
    ...{ ledgerId: of, generation, lost: [], lostLeftOut: 0, untold: null, requests: [], requestsLeftOut: 0 },
    ...{ reason: 'gone', actor: 'operator' },
  },
});
const forms = (version: number): Written => ({
  type: 'FormsAdopted',
  data: { forms: { CreditsDebited: version }, without: [], reason: 'all read it', actor: 'operator' },
});

const moved = (of = ID, generation = 1): Written => ({
  type: 'LedgerMoved',
  data: {
    ...{ ledgerId: of, generation, to: 'elsewhere', head: { stream: 'catalog', revision: 0, id: 'x' } },
    ...{ movedAt: AT, actor: 'operator' },
  },
});

const sealed = (seal: number, first: number, count: number, treeSize = first + count): Written => ({
  type: 'LedgerSealed',
  data: {
    ...{ seal, ledgerId: ID, first, count, root: 'a3'.repeat(32), treeSize, treeRoot: 'a3'.repeat(32) },
    ...{ previous: null, sealedAt: AT, keyId: 'a3'.repeat(8), signature: Buffer.alloc(64).toString('base64') },
  },
});

const compared = (provider: string, change: Partial<EventData<'ProviderReconciled'>> = {}): Written => ({
  type: 'ProviderReconciled',
  data: {
    ...{ provider, report: { sha256: 'a3'.repeat(32), rows: 0, outside: 0, withoutTokens: 0 }, by: 'day', from: AT },
    ...{ to: LATER, classes: [], counts: { matched: 0, mismatched: 0, oursOnly: 0, theirsOnly: 0 }, lines: [] },
    ...{ linesLeftOut: 0, differences: [], differencesLeftOut: 0, ...change },
  },
});
const anthropic = reconciliationStream('anthropic');

it.each<[string, StreamName, readonly Written[]]>([
  [
    'a relay that renews, begins anew, and hands over',
    relay,
    [claim(1), checkpoint(1, 5), checkpoint(1, 0), release(1)],
  ],
  ['a relay after another', relay, [claim(1), checkpoint(1, 5), claim(2, 'two'), checkpoint(2, 5, 'two')]],
  ['claims of a name', proxy, [claimed(1), ended(1), claimed(2), claimed(5)]],
  ['a ledger that has lost something twice', LEDGER_STREAM, [identified(), forms(3), loss(2), loss(4), forms(4)]],
  ['a ledger that moves, and moves again', LEDGER_STREAM, [identified(), moved(), identified(), forms(3), moved()]],
  ['seals', SEALS_STREAM, [sealed(0, 0, 5), sealed(1, 5, 7)]],
  ['comparisons', anthropic, [compared('anthropic'), compared('anthropic')]],
])('finds no fault in %s', (_what, stream, events) => {
  expect(faultsOf(stream, events)).toEqual([]);
});

it.each<[string, StreamName, readonly Written[], string]>([
  ['an epoch that is left out', relay, [claim(1), claim(3)], '1: the epoch of the claim is 3, should be 2'],
  ['a claim of what another has', relay, [claim(1, 'one', LATER), claim(2, 'two')], '1: claimed while one has it is '],
  ['a checkpoint before a claim', relay, [checkpoint(1, 5)], '0: RelayCheckpointed without a claim'],
  ['a release without a claim', relay, [claim(1), release(1), release(1)], '2: RelayReleased without a claim'],
  ['a checkpoint of another', relay, [claim(1), checkpoint(1, 5, 'two')], '1: the relay is two, should be one'],
  ['a checkpoint of an epoch that is over', relay, [claim(1), claim(2), checkpoint(1, 5)], '2: the epoch is 1, should'],
  [
    'a checkpoint that goes back',
    relay,
    [claim(1), checkpoint(1, 5), checkpoint(1, 4)],
    '2: the checkpoint is 4, should',
  ],
  ['a claim that comes again', proxy, [claimed(2), claimed(2)], '1: the epoch of the claim is 2, should be above 2'],
  [
    "another's name",
    proxyStream(proxyId('proxy_2')),
    [claimed(1)],
    '0: the proxy that is claimed is proxy_1, should be',
  ],
  ['an end of no claim', proxy, [ended(1)], '0: a claim is told to have ended is 1, should be one that goes on'],
  [
    'an end of another instance',
    proxy,
    [claimed(1), ended(1, 'x')],
    '1: a claim is told to have ended is 1, should be 1',
  ],
  ['an end that comes twice', proxy, [claimed(1), ended(1), ended(1)], '2: a claim is told to have ended is 1, should'],
  ['a second identity', LEDGER_STREAM, [identified(), identified()], '1: the ledger is identified twice is '],
  [
    'a first generation that is none',
    LEDGER_STREAM,
    [identified(2)],
    "0: the ledger's first generation is 2, should be 1",
  ],
  ['a loss of no ledger', LEDGER_STREAM, [loss(2)], '0: a loss of a ledger without an identity'],
  ['a loss of another ledger', LEDGER_STREAM, [identified(), loss(2, OTHER)], '1: the ledger is ledger_b7'],
  ['a generation that is there', LEDGER_STREAM, [identified(), loss(3), loss(3)], '2: the generation that begins is 3'],
  [
    'forms that are there',
    LEDGER_STREAM,
    [identified(), forms(3), forms(3)],
    '2: forms are adopted that were so already',
  ],
  ['another ledger that moves', LEDGER_STREAM, [identified(), moved(OTHER)], '1: the ledger is ledger_b7'],
  ['a generation that is not there and moves', LEDGER_STREAM, [identified(), moved(ID, 2)], '1: the generation is 2'],
  ['an arrival of another generation', LEDGER_STREAM, [identified(), moved(), identified(2)], '2: the generation is 2'],
  ['what a ledger does that is gone', LEDGER_STREAM, [identified(), moved(), forms(3)], '2: FormsAdopted of a ledger'],
  ['forms of no ledger', LEDGER_STREAM, [forms(3)], '0: forms are adopted by a ledger without an identity'],
  ['a seal that is left out', SEALS_STREAM, [sealed(0, 0, 5), sealed(2, 5, 7)], '1: the seal is 2, should be 1'],
  ['events between two seals', SEALS_STREAM, [sealed(0, 0, 5), sealed(1, 6, 7)], '1: the first event of the seal is 6'],
  ['a seal with two ends', SEALS_STREAM, [sealed(0, 0, 5, 6)], '0: the end of the seal is 6, should be 5'],
  ["another provider's comparison", anthropic, [compared('other')], '0: the provider is other, should be anthropic'],
  ['a comparison of no time', anthropic, [compared('anthropic', { to: AT })], '0: a comparison of no time: '],
  ["another stream's event", proxy, [identified()], '0: LedgerIdentified does not belong there'],
  ['a stream of nobody', 'notes-1' as StreamName, [identified()], '0: a stream that is none of a ledger'],
])('tells of %s', (_what, stream, events, fault) => {
  expect(faultsOf(stream, events)).toContainEqual(expect.stringContaining(fault));
});

type Placed = readonly [StreamName, Written];

/** @param read all or some of them, in another order than the log's */
function faultsWith(events: readonly Placed[], { isFirst = true, read = events } = {}): string[] {
  const faults: string[] = [];
  const audit = new LedgerAudit({
    onFault: (fault) => faults.push(`${fault.stream} ${fault.revision}: ${describeFault(fault)}`),
    isFirst,
  });
  for (const placed of read) {
    const [stream, event] = placed;
    const index = events.indexOf(placed);
    const before = events.slice(0, index).filter(([other]) => other === stream).length;
    audit.take({ ...recordedOf(stream, event, index), revision: revision(before) });
  }
  audit.end();
  return faults;
}
const move = [LEDGER_STREAM, moved()] as const;

it('takes a checkpoint that goes back for right in another log, and in no other', () => {
  const before = [
    [LEDGER_STREAM, identified()] as const,
    [relay, claim(1)] as const,
    [relay, checkpoint(1, 900)] as const,
  ];
  expect(faultsWith([...before, move, [relay, checkpoint(1, 9)], [relay, checkpoint(1, 12)]])).toEqual([]);
  expect(faultsWith([...before, move, [relay, checkpoint(1, 9)], [relay, checkpoint(1, 8)]])).toEqual([
    expect.stringContaining('the checkpoint is 8, should be 9 or more'),
  ]);
  expect(faultsWith([...before, [relay, checkpoint(1, 9)]])).toHaveLength(1);
});

it('tells of what is written to a log that the ledger has left, by stream, and not of what has come with it', () => {
  const before = [[LEDGER_STREAM, identified()] as const, [proxy, claimed(1)] as const];
  const behind = [
    [proxy, ended(1)] as const,
    [anthropic, compared('anthropic')] as const,
    [relay, claim(1)] as const,
    [proxy, claimed(2)] as const,
  ];
  const arrived = [LEDGER_STREAM, identified()] as const;
  const left = [
    `${proxy} 1: ProxyClaimed and 1 more behind it of a ledger that has moved to another log`,
    `${anthropic} 0: ProviderReconciled of a ledger that has moved to another log`,
  ];
  expect(faultsWith([...before, move, ...behind])).toEqual(left);
  expect(faultsWith([...before, move, ...behind, arrived, [proxy, claimed(3)]])).toEqual([]);
  expect(faultsWith([...before, move, ...behind, arrived, [LEDGER_STREAM, moved()], [proxy, claimed(3)]])).toHaveLength(
    1,
  );
});

it('tells of an account in a log that the ledger has left in the part that looks at it, and where its stream is read last', () => {
  const account = accountStream(accountId('acme'));
  const events = [
    [LEDGER_STREAM, identified()] as const,
    [account, exampleOf('AccountOpened')] as const,
    move,
    [account, exampleOf('PlanChanged')] as const,
    [proxy, claimed(1)] as const,
  ];
  const left = [`${account} 1: PlanChanged of a ledger that has moved to another log`];
  const told = (faults: readonly string[]) => faults.filter((fault) => fault.endsWith('moved to another log'));
  expect(told(faultsWith(events, { isFirst: false }))).toEqual(left);
  const first = events.filter(([stream]) => stream === LEDGER_STREAM);
  expect(told(faultsWith(events, { read: [...first, ...events.filter(([stream]) => stream === account)] }))).toEqual(
    left,
  );
});

it('says where a ledger has gone on that has left its log, and not of one that has arrived', () => {
  const movedTo = (...events: readonly Written[]) => {
    const audit = new LedgerAudit({ onFault: () => {} });
    for (const [index, event] of events.entries()) audit.take(recordedOf(LEDGER_STREAM, event, index));
    return audit.end().movedTo;
  };
  expect(movedTo(identified())).toBeUndefined();
  expect(movedTo(identified(), moved())).toBe('elsewhere');
  expect(movedTo(identified(), moved(), identified())).toBeUndefined();
});
