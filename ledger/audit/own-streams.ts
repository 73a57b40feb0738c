import type { RecordedEvent } from '../../contracts/event-log.ts';
import type { AccountEvent, EventType } from '../../contracts/events.ts';
import type { LedgerCategory } from '../../contracts/ids.ts';
import type { StoredEvent } from './stored-event.ts';

type Told = (what: string, found?: unknown, expected?: unknown) => void;
type Follows = (event: StoredEvent, tell: Told) => void;

/**
 * The streams that are of no account: revisions without a gap, in each only what is written there, and each event one that
 * can follow those before it.
 */
export class OwnStreams {
  readonly #streams = new Map<string, { revision: number; readonly follows: Follows | null }>();
  #moves = 0;

  /** @param stored null where it cannot be read */
  take({ stream, revision, type }: RecordedEvent, stored: StoredEvent | null, tell: Told): void {
    const known = this.#streams.get(stream) ?? { revision: -1, follows: followsIn(stream, () => this.#moves) };
    this.#streams.set(stream, known);
    if (revision !== known.revision + 1) tell(`revision ${revision} follows ${known.revision}`);
    known.revision = revision;
    if (known.follows === null) tell('a stream that is none of a ledger');
    else if (stored !== null && CATEGORIES.get(type) !== categoryOf(stream)) tell(`${type} does not belong there`);
    else if (stored !== null) known.follows(stored, tell);
    if (type === 'LedgerMoved') this.#moves++;
  }
}

const categoryOf = (stream: string): string => stream.split('-', 1)[0] ?? '';
const nameIn = (stream: string): string => stream.slice(categoryOf(stream).length + 1);

/** Where each event of no account belongs: one that has nothing here is not compiled. */
const CATEGORY: Readonly<Record<Exclude<EventType, AccountEvent['type']>, LedgerCategory>> = {
  CatalogPublished: 'catalog',
  LedgerIdentified: 'ledger',
  LossAccepted: 'ledger',
  LedgerMoved: 'ledger',
  FormsAdopted: 'ledger',
  RelayClaimed: 'relay',
  RelayCheckpointed: 'relay',
  RelayReleased: 'relay',
  ProxyClaimed: 'proxy',
  ProviderReconciled: 'reconciliation',
  LedgerSealed: 'seals',
  SealKeyIntroduced: 'seals',
};
const CATEGORIES: ReadonlyMap<string, LedgerCategory> = new Map(Object.entries(CATEGORY));

/** Null for a stream that is none of a ledger. @param moves how often the ledger has left a log */
function followsIn(stream: string, moves: () => number): Follows | null {
  switch (categoryOf(stream)) {
    case 'catalog':
      // Its versions and cards are looked at with the prices.
      return stream === 'catalog' ? () => {} : null;
    case 'ledger':
      return stream === 'ledger' ? ledgerEvents() : null;
    case 'relay':
      return relayEvents(moves);
    case 'proxy':
      return claims(nameIn(stream));
    case 'reconciliation':
      return reconciliations(nameIn(stream));
    case 'seals':
      return stream === 'seals' ? seals() : null;
    default:
      return null;
  }
}

interface Identified {
  readonly ledgerId: string;
  readonly generation: number;
}

/** One identity for ever; each accepted loss begins a later generation, and forms are only added. */
function ledgerEvents(): Follows {
  let identity: Identified | null = null;
  let isMoved = false;
  const adopted = new Map<string, number>();
  return ({ type, data }, tell) => {
    if (isMoved && type !== 'LedgerIdentified') tell(`${type} of a ledger that has moved to another log`);
    if (type === 'FormsAdopted') {
      const { forms } = data as { readonly forms: Readonly<Record<string, number>> };
      if (identity === null) tell('forms are adopted by a ledger without an identity');
      if (Object.entries(forms).every(([name, version]) => version <= (adopted.get(name) ?? 0)))
        tell('forms are adopted that were so already');
      for (const [name, version] of Object.entries(forms)) adopted.set(name, Math.max(version, adopted.get(name) ?? 0));
      return;
    }
    const { ledgerId, generation } = data as Identified;
    if (type === 'LedgerIdentified') {
      if (isMoved) tellOther(identity, { ledgerId, generation }, tell);
      else if (identity !== null) tell('the ledger is identified twice', ledgerId, identity.ledgerId);
      else if (generation !== 1) tell("the ledger's first generation", generation, 1);
      isMoved = false;
    } else if (type === 'LedgerMoved') {
      tellOther(identity, { ledgerId, generation }, tell);
      isMoved = true;
    } else {
      if (identity === null) tell('a loss of a ledger without an identity');
      else if (ledgerId !== identity.ledgerId) tell('the ledger', ledgerId, identity.ledgerId);
      if (generation <= (identity?.generation ?? 1))
        tell('the generation that begins', generation, `above ${identity?.generation ?? 1}`);
    }
    identity = { ledgerId, generation };
  };
}

function tellOther(is: Identified | null, { ledgerId, generation }: Identified, tell: Told): void {
  if (ledgerId !== is?.ledgerId) tell('the ledger', ledgerId, is?.ledgerId ?? 'one with an identity');
  else if (generation !== is.generation) tell('the generation', generation, is.generation);
}

interface RelayData {
  readonly relay: string;
  readonly epoch: number;
  readonly position: number;
  readonly until: string;
}

/**
 * Claims one after the other, each the next epoch; a checkpoint is of the one that has the claim, and goes on, or begins anew, as it
 * does in another log, whose positions are others.
 */
function relayEvents(moves: () => number): Follows {
  let [epoch, position, log] = [0, 0, moves()];
  let holder: Pick<RelayData, 'relay' | 'until'> | null = null;
  return ({ type, data, metadata }, tell) => {
    const said = data as RelayData;
    if (type === 'RelayClaimed') {
      if (said.epoch !== epoch + 1) tell('the epoch of the claim', said.epoch, epoch + 1);
      if (holder !== null && metadata !== undefined && metadata.recordedAt <= holder.until)
        tell(`claimed while ${holder.relay} has it`, metadata.recordedAt, `after ${holder.until}`);
      epoch = said.epoch;
      holder = said;
      return;
    }
    if (holder === null) tell(`${type} without a claim`);
    else if (said.relay !== holder.relay) tell('the relay', said.relay, holder.relay);
    if (said.epoch !== epoch) tell('the epoch', said.epoch, epoch);
    if (type === 'RelayReleased') {
      holder = null;
      return;
    }
    if (log === moves() && said.position !== 0 && said.position < position)
      tell('the checkpoint', said.position, `${position} or more`);
    position = said.position;
    log = moves();
    holder = said;
  };
}

interface ClaimData {
  readonly proxy: string;
  readonly epoch: number;
  readonly instance: string;
}

/** Each claim of a name has a later epoch than the one before, but for the same one's word that it has ended. */
function claims(name: string): Follows {
  let last: (ClaimData & { readonly hasEnded: boolean }) | null = null;
  return ({ data, metadata }, tell) => {
    const claim = data as ClaimData;
    const hasEnded = metadata?.ended === true;
    if (claim.proxy !== name) tell('the proxy that is claimed', claim.proxy, name);
    const before = last?.epoch ?? 0;
    if (hasEnded) {
      if (last === null || last.hasEnded || claim.epoch !== before || claim.instance !== last.instance)
        tell('a claim is told to have ended', claim.epoch, last?.hasEnded === false ? before : 'one that goes on');
    } else if (claim.epoch <= before) tell('the epoch of the claim', claim.epoch, `above ${before}`);
    last = { ...claim, hasEnded };
  };
}

function reconciliations(provider: string): Follows {
  return ({ data }, tell) => {
    const said = data as { readonly provider: string; readonly from: string; readonly to: string };
    if (said.provider !== provider) tell('the provider', said.provider, provider);
    if (said.from >= said.to) tell('a comparison of no time', `${said.from} to ${said.to}`);
  };
}

interface SealData {
  readonly seal: number;
  readonly first: number;
  readonly count: number;
  readonly treeSize: number;
}

/** One after the other, without a gap: what they are over, and who has signed them, `--seals` looks at. */
function seals(): Follows {
  let [next, sealed] = [0, 0];
  return ({ type, data }, tell) => {
    if (type !== 'LedgerSealed') return;
    const { seal, first, count, treeSize } = data as SealData;
    if (seal !== next) tell('the seal', seal, next);
    if (first !== sealed) tell('the first event of the seal', first, sealed);
    if (treeSize !== first + count) tell('the end of the seal', treeSize, first + count);
    [next, sealed] = [seal + 1, treeSize];
  };
}
