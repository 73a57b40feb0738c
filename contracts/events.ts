import { z } from 'zod';
import { boundedList, text } from './bounded-length.ts';
import { catalogModelField } from './catalog.ts';
import { correctionEvents } from './correction-events.ts';
import {
  accountIdField,
  grantIdField,
  instantField,
  keyIdField,
  leaseIdField,
  ledgerIdField,
  microUsdField,
  productField,
  proxyIdField,
  requestIdField,
} from './event-fields.ts';
import { limitEvents } from './limit-events.ts';
import { memberEvents } from './member-events.ts';
import { paymentEvents } from './payment-events.ts';
import { catalogPlanField } from './plan.ts';
import { planEvents } from './plan-events.ts';
import { reconciliationEvents } from './reconciliation-events.ts';
import { reloadEvents } from './reload-events.ts';
import { sealEvents } from './seal-events.ts';
import { statementEvents } from './statement-events.ts';
import { usageEvents } from './usage-events.ts';

/** Every event of the ledger. Amounts are positive, the direction is in the name. */
const sha256Field = z.string().regex(/^[0-9a-f]{64}$/);

const accountEvents = {
  AccountOpened: z.strictObject({
    accountId: accountIdField,
    kind: z.enum(['personal', 'organization']),
    email: z.email(),
    openedAt: instantField,
    product: productField,
  }),
  ...memberEvents,
  ApiKeyIssued: z.strictObject({
    keyId: keyIdField,
    name: text,
    sha256: sha256Field,
    last4: z.string().regex(/^.{4}$/s),
    issuer: text,
    expiresAt: instantField.nullable(),
    /** Model ids that the key may call; null is all of them. */
    models: z.array(text).nullable(),
    monthlyLimit: microUsdField.nullable(),
    /** Whose key it is, by e-mail; null is the account's first owner. */
    member: z.email().nullable(),
  }),
  /** A key has a new secret from here on. The one before goes on until `previousUntil`, exclusive; those before that one have ended. */
  ApiKeyRotated: z.strictObject({
    keyId: keyIdField,
    sha256: sha256Field,
    last4: z.string().regex(/^.{4}$/s),
    previousUntil: instantField,
    rotatedAt: instantField,
    by: text,
  }),
  ApiKeyRevoked: z.strictObject({ keyId: keyIdField, revokedAt: instantField }),
  ...planEvents,
  CreditsGranted: z.strictObject({
    grantId: grantIdField,
    source: z.enum(['trial', 'purchase', 'plan', 'promotion', 'adjustment']),
    amount: microUsdField,
    /** What was paid for it. */
    costBasis: microUsdField,
    /** Grants of a lower number burn first. */
    priority: z.int().min(0).max(1000),
    effectiveAt: instantField,
    /** Exclusive; null is never. */
    expiresAt: instantField.nullable(),
  }),
  /** Written a stated time after the grant's end, from which on it could not be spent. */
  CreditsExpired: z.strictObject({ grantId: grantIdField, amount: microUsdField, expiredAt: instantField }),
  /** Gives a grant back what was written down as expired and should not have been: a clock was wrong. */
  CreditsReinstated: z.strictObject({
    grantId: grantIdField,
    amount: microUsdField,
    /** The grant's end (exclusive) from here on: its own, or a later one. */
    expiresAt: instantField,
    reason: text,
    actor: text,
  }),
  ...usageEvents,
  ...correctionEvents,
  /**
   * A proxy may admit requests against this much more of the account's free credit. A lease that is there already grows
   * by the amount (0 only renews it) and has the new expiry. Requests under a lease have ended when it expires.
   */
  CreditsLeased: z.strictObject({
    proxy: proxyIdField,
    leaseId: leaseIdField,
    /** Of the claim under which the proxy has the lease; 0 from before there were claims. */
    epoch: z.int().min(0),
    /** The key whose monthly limit the lease counts against, too; absent for keys without a limit. */
    keyId: keyIdField.optional(),
    amount: microUsdField,
    /** Exclusive. From then on the credit is free again, whatever became of the proxy. */
    expiresAt: instantField,
    /**
     * Between which instants the requests under the lease start, the second exclusive: where a grant expires its proxy goes
     * on with another lease, so that it is known what the grant will pay. Null is not known, and for the second no end.
     */
    requestsFrom: instantField.nullable(),
    requestsBefore: instantField.nullable(),
  }),
  /** What a proxy gives back of a lease, or what an expired lease had left. */
  LeaseReleased: z.strictObject({ proxy: proxyIdField, leaseId: leaseIdField, amount: microUsdField }),
  /** The most that requests of a key with a new limit take of a lease; its rest leaves the key's limit alone. */
  LeaseNarrowed: z.strictObject({
    proxy: proxyIdField,
    leaseId: leaseIdField,
    keyId: keyIdField,
    atMost: microUsdField,
  }),
  ...paymentEvents,
  ...reloadEvents,
  ...statementEvents,
  ...limitEvents,
  AccountSuspended: z.strictObject({ reason: text }),
  AccountReinstated: z.strictObject({ reason: text }),
} as const;

const catalogEvents = {
  CatalogPublished: z.strictObject({
    version: z.int().min(1),
    hash: sha256Field,
    publishedAt: instantField,
    models: z.array(catalogModelField),
    plans: z.array(catalogPlanField),
  }),
} as const;

/** Who may publish, and how far it has come; at an expected revision: of two relays one conflicts, and stops. */
const relayEvents = {
  /** A relay is the active one from here to `until`; `epoch` is one more than the claim's before. */
  RelayClaimed: z.strictObject({ relay: text, epoch: z.int().min(1), until: instantField }),
  /** Everything up to and with `position` is acknowledged by Kafka. Renews the claim. */
  RelayCheckpointed: z.strictObject({
    relay: text,
    epoch: z.int().min(1),
    position: z.int().min(0),
    until: instantField,
  }),
  /** The relay has stopped in order: another need not wait for `until`. */
  RelayReleased: z.strictObject({ relay: text, epoch: z.int().min(1) }),
} as const;

/** A proxy's own stream, named after it: the newest claim has the name. */
const proxyEvents = {
  /** A process has the name; the epoch is the greatest, older claims are fenced. `instance`: a folder knows its own. */
  ProxyClaimed: z.strictObject({
    proxy: proxyIdField,
    epoch: z.int().min(1),
    instance: text,
    claimedAt: instantField,
  }),
} as const;

/** The stream `ledger`: which ledger this is, what of it was lost and given up, and in which forms it is written. */
const ledgerEvents = {
  /**
   * The first event of a new ledger; of one from before, what the first gateway that opens it appends. Behind `LedgerMoved` the
   * same again: the ledger is here.
   */
  LedgerIdentified: z.strictObject({ ledgerId: ledgerIdField, generation: z.int().min(1), identifiedAt: instantField }),
  /** An operator has accepted that the ledger lacks what others knew of it: a new generation begins, all anew. */
  LossAccepted: z.strictObject({
    ledgerId: ledgerIdField,
    /** The one that begins here. */
    generation: z.int().min(2),
    /**
     * The range that is lost: a stream's revisions up to `known`, by whom. Those up to `sharedAtLeast` (-1 is none) are
     * what was there for certain, those after `sharedAtMost` are lost; of the ones between nobody could tell.
     */
    lost: z.array(
      z.strictObject({
        stream: text,
        sharedAtLeast: z.int().min(-1),
        sharedAtMost: z.int().min(-1),
        known: z.int().min(0),
        knownBy: boundedList(text, { min: 1 }),
      }),
    ),
    /** Streams that the list has no room for. */
    lostLeftOut: z.int().min(0),
    /** Other streams of which it could not be told whether what is there is what was there; null where nobody looked. */
    untold: z.int().min(0).nullable(),
    /** What the journal held and the remaining ledger cannot take. */
    requests: z.array(z.strictObject({ requestId: requestIdField, accountId: accountIdField, cause: text })),
    requestsLeftOut: z.int().min(0),
    reason: text,
    actor: text,
  }),
  /**
   * The last event of a log: the ledger goes on in another one, which has all of this one's. There `LedgerIdentified` stands
   * behind it, once everything is there.
   */
  LedgerMoved: z.strictObject({
    ledgerId: ledgerIdField,
    generation: z.int().min(1),
    /** The other log, as an operator knows it: its file, or the server, without its credentials. */
    to: text,
    /** The last event before it that whoever wrote it knew of. */
    head: z.strictObject({ stream: text, revision: z.int().min(0), id: text }),
    movedAt: instantField,
    actor: text,
  }),
  /** From here on events may have these forms, too (type → schemaVersion); who reads less does not start. For good. */
  FormsAdopted: z.strictObject({
    forms: z.record(text, z.int().min(1)),
    /** Proxies whose claims were left out of the question who reads them, by an operator's word. */
    without: z.array(proxyIdField),
    reason: text,
    actor: text,
  }),
} as const;

export const EVENT_SCHEMAS = {
  ...accountEvents,
  ...catalogEvents,
  ...relayEvents,
  ...proxyEvents,
  ...ledgerEvents,
  ...reconciliationEvents,
  ...sealEvents,
} as const;

type EventsOf<Schemas extends Record<string, z.ZodType>> = {
  [T in keyof Schemas & string]: { readonly type: T; readonly data: z.infer<Schemas[T]> };
}[keyof Schemas & string];

/** Events of a stream `account-<id>`. */
export type AccountEvent = EventsOf<typeof accountEvents>;
/** Events of the stream `catalog`. */
type CatalogEvent = EventsOf<typeof catalogEvents>;
/** Events of a stream `relay-<feed>`. */
export type RelayEvent = EventsOf<typeof relayEvents>;
/** Events of a stream `proxy-<id>`. */
type ProxyEvent = EventsOf<typeof proxyEvents>;
/** Events of the stream `ledger`. */
export type LedgerEvent = EventsOf<typeof ledgerEvents>;
/** Events of a stream `reconciliation-<provider>`. */
type ReconciliationEvent = EventsOf<typeof reconciliationEvents>;
/** Events of the stream `seals`. */
type SealEvent = EventsOf<typeof sealEvents>;
export type DomainEvent =
  | AccountEvent
  | CatalogEvent
  | RelayEvent
  | ProxyEvent
  | LedgerEvent
  | ReconciliationEvent
  | SealEvent;
export type EventType = DomainEvent['type'];
export type EventData<T extends EventType> = Extract<DomainEvent, { type: T }>['data'];

export type UsageRecorded = EventData<'UsageRecorded'>;
export type CreditsDebited = EventData<'CreditsDebited'>;
export type ExceptionApproved = EventData<'ExceptionApproved'>;
export type Outcome = UsageRecorded['outcome'];

/** Whether usage is estimated where its upstream's last word is missing: what an upstream refused or broke off never is. */
export const mayBeEstimated = (outcome: Outcome): boolean =>
  outcome === 'completed' || outcome === 'client_disconnected';

/** Whether anything of it is an estimate: zeros of an upstream that said nothing, which are called `estimated`, too, are none. */
export const isEstimate = ({ source, outcome }: Pick<UsageRecorded, 'source' | 'outcome'>): boolean =>
  source === 'estimated' && mayBeEstimated(outcome);

export const isAccountEvent = (event: DomainEvent): event is AccountEvent => Object.hasOwn(accountEvents, event.type);
export const isLedgerEvent = (event: DomainEvent): event is LedgerEvent => Object.hasOwn(ledgerEvents, event.type);
