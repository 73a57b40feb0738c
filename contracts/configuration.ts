import { z } from 'zod';
import { text } from './bounded-length.ts';
import { environmentVariable } from './environment-variable.ts';
import { DEFAULT_PRODUCT, productField } from './event-fields.ts';
import { type KafkaConfiguration, kafkaSchema } from './kafka-configuration.ts';
import { LIMITS } from './limits.ts';
import { type MicroUsd, parseUsd } from './money.ts';
import { type PaymentsConfiguration, paymentsSection } from './payments-configuration.ts';
import { rateLimitsSchema } from './rate-limits.ts';
import { streamPrefixField } from './stream-prefix.ts';
import { systemText } from './system-text.ts';
import { withPart } from './whole-and-part.ts';

const milliseconds = (max: number) => z.int().min(1).max(max);
const httpUrl = z.url({ protocol: /^https?$/, error: 'expected an http or https URL' });

const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'expected an origin such as "https://app.example", or "*"',
  );

/** An address, or a range of them in CIDR notation. */
const addressRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected an address or a range such as "10.0.0.0/8"',
});

const usd = z.string().transform((text, context): MicroUsd => {
  const amount = parseUsd(text);
  if (amount !== null) return amount;
  context.addIssue({ code: 'custom', message: 'expected USD as a string such as "5.00"' });
  return z.NEVER;
});

const providerSchema = z.strictObject({
  protocol: z.literal('messages'),
  /** Where `/v1/messages` is appended. */
  baseUrl: httpUrl,
  /** The credential: in a variable, or in a file that holds nothing else. One of the two. */
  apiKeyEnv: environmentVariable.optional(),
  apiKeyFile: systemText.optional(),
  /** The header that carries the credential. */
  auth: z.enum(['x-api-key', 'bearer']).default('x-api-key'),
  /** Sent when the client sends no `anthropic-version`. */
  version: z.string().default('2023-06-01'),
  /** Whether it answers `/v1/messages/count_tokens`. */
  countTokens: z.boolean().default(true),
  /** A client that leaves: read on to the final usage, or cancel the upstream's call. */
  onClientDisconnect: z.enum(['drain', 'cancel']).default('drain'),
  /** Calls for messages under way at once; further ones wait. */
  connections: z.int().min(1).max(10_000).default(512),
  /** For calls of count_tokens, beside those for messages: counts never take a connection from these. */
  countConnections: z.int().min(1).max(10_000).default(32),
  /** Of each of the two, the most that one account's calls may have at once, in percent. Its further calls wait. */
  accountPercent: z.int().min(1).max(100).default(50),
  /** Of a call: until it is connected, until its answer begins, between two pieces of that, and in all. */
  connectMs: milliseconds(LIMITS.connectMs).default(LIMITS.connectMs),
  firstByteMs: milliseconds(LIMITS.firstByteMs).default(LIMITS.firstByteMs),
  idleMs: milliseconds(LIMITS.idleMs).default(LIMITS.idleMs),
  totalMs: milliseconds(LIMITS.requestTotalMs).default(LIMITS.requestTotalMs),
});

const address = z.strictObject({ host: systemText.default('127.0.0.1'), port: z.int().min(0).max(65_535) });

const eventLogSchema = z.discriminatedUnion(
  'kind',
  [
    /** `ledger.db` in the data folder; for one proxy. */
    z.strictObject({ kind: z.literal('sqlite') }),
    /** EventStoreDB or KurrentDB; for any number of proxies. The string is given as it is, in a variable, or in a file with nothing else. */
    z.strictObject({
      kind: z.literal('eventstoredb'),
      /**
       * `esdb://…`: hosts, TLS, credentials and node preference, all in one. Several hosts (`a:2113,b:2113`) are the
       * cluster's seeds, of which one has to answer; `esdb+discover://name` is for one DNS name of several nodes.
       */
      connectionString: text.optional(),
      connectionStringEnv: environmentVariable.optional(),
      connectionStringFile: systemText
        .refine((file) => !file.includes('://'), 'expected a file that has the connection string')
        .optional(),
      /**
       * What the names of all streams of this ledger begin with, as `gateway-`, on a server that others use, too: their
       * streams of the same names (`account-…` is the most natural) stay theirs. Nothing by default. It belongs to the
       * ledger: never to be changed once there is one, and the same for all proxies, relays and commands.
       */
      streamPrefix: streamPrefixField.default(''),
    }),
  ],
  { error: 'expected "sqlite" or "eventstoredb"' },
);

/** What is not said of a section has its default, also where nothing of it is. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape, z.core.$strict>>);

const sections = z.strictObject({
  listen: section({ host: systemText.default('127.0.0.1'), port: z.int().min(0).max(65_535).default(8787) }),
  /** The data folder: ledger, views and journal. Relative to the configuration file. */
  data: systemText.default('.data'),
  eventLog: eventLogSchema.default({ kind: 'sqlite' }),
  /** The feed of the ledger's events for others, and for views where `projections.source` says so. */
  kafka: kafkaSchema.optional(),
  projections: section({
    /** Where the views are fed from: the event log, or its feed in Kafka. */
    source: z.enum(['log', 'kafka']).default('log'),
    /** How long requests are admitted by views that nothing feeds any more. */
    maxAgeMs: milliseconds(LIMITS.viewsAgeMs).default(LIMITS.viewsAgeMs),
  }),
  journal: section({
    /** Usage that waits for the event log; past it requests are refused. What waits for accounts that are set aside does not count: as much again. */
    maxBytes: z
      .int()
      .min(64 * 1024 ** 2)
      .max(1e12)
      .default(512 * 1024 ** 2),
  }),
  /** `many` share a log, each admits by leases; `one` has all credit. By default as the log: eventstoredb, sqlite. */
  proxies: z.enum(['one', 'many']).optional(),
  leases: section({
    /** How much longer than the longest request a lease is: admission has half of it, settlement the other half. */
    slackMs: milliseconds(86_400_000).default(LIMITS.leaseSlackMs),
    /** How long a request waits for credit that other proxies may give back, before it is refused. */
    reclaimMs: milliseconds(60_000).default(LIMITS.leaseReclaimMs),
    /** How long a request waits for its lease in all, before it is refused because the log is slow. */
    waitMs: milliseconds(60_000).default(LIMITS.leaseWaitMs),
  }),
  autoReload: section({
    /** How long a request for which there are no credits waits while some are being bought by themselves; 0 is not at all. */
    waitMs: z.int().min(0).max(LIMITS.reloadWaitMsMax).default(0),
  }),
  /**
   * Where `gateway serve` and `gateway relay` answer GET /metrics; absent is nowhere. Not for the public. Of `serve` also where its
   * seals and their keys are shown, and where webhooks of payments are heard.
   */
  metrics: section({ serve: address.optional(), relay: address.optional() }),
  /** Published at start where the ledger has no catalog; later starts tell differences. From this file's folder. */
  catalog: systemText.optional(),
  providers: z
    .record(z.string().regex(/^[a-z0-9][a-z0-9-]*$/), providerSchema)
    .default({})
    .refine((providers) => !Object.hasOwn(providers, 'mock'), {
      path: ['mock'],
      error: 'is built in; choose another name',
    }),
  /** Which product this gateway serves: keys of other products' accounts are unknown here. New accounts are of it. */
  product: productField.default(DEFAULT_PRODUCT),
  /** What new accounts get for 30 days (interface, 5.4). */
  trialUsd: usd.default(5_000_000n as MicroUsd),
  /** What a stream that the upstream broke off costs: nothing, or what was reported up to then. */
  chargeInterrupted: z.enum(['none', 'reported']).default('none'),
  /** When the machine's clock is not believed. */
  clock: section({
    /** A jump by more than this, or a start so far behind the ledger's newest event. */
    jumpMs: milliseconds(LIMITS.viewsAgeMs).default(LIMITS.clockJumpMs),
    /** How long it must be steady after that, before anything is admitted or written for good. */
    steadyMs: milliseconds(60 * LIMITS.clockSteadyMs).default(LIMITS.clockSteadyMs),
    /** How far it may be off the clock of the log's server; leases.slackMs has to cover that (contracts/lease-slack.ts). */
    skewMs: milliseconds(LIMITS.viewsAgeMs).default(LIMITS.clockSkewMs),
  }),
  /** Forms that older programs cannot read are written once all read them for so long; then no proxy goes back. */
  eventForms: section({ adoptAfterMs: z.int().min(0).max(31_536_000_000).default(LIMITS.formsAdoptAfterMs) }),
  /** Seals over the ledger's events: signed, chained, written behind what is served (ledger/seals/). */
  seals: section({
    /** A seal is due when so many events have none, or one has had none for so long. */
    events: z.int().min(1).max(LIMITS.sealEventsMax).default(LIMITS.sealEvents),
    afterMs: milliseconds(LIMITS.sealAfterMsMax).default(LIMITS.sealAfterMs),
    /**
     * An Ed25519 private key in PEM, in a file or in a variable. Without either the embedded ledger has one in its data
     * folder (`seal-key`), and any other ledger no seals.
     */
    keyFile: systemText.optional(),
    keyEnv: environmentVariable.optional(),
    /** A file, or a folder, to which each seal is written, too: somewhere that whoever can change the ledger cannot. */
    copyTo: systemText.optional(),
  }),
  /** How long after their instant expired credits are written down; they are unusable from the instant on. */
  expiry: section({
    lateMs: z.int().min(LIMITS.expiryLateMsMin).max(31_536_000_000).default(LIMITS.expiryLateMs),
  }),
  /** How long after a month's end the statements of accounts are closed; what is written down later is in the next one. */
  statements: section({
    graceMs: z.int().min(LIMITS.statementGraceMsMin).max(2_678_400_000).default(LIMITS.statementGraceMs),
  }),
  /** Who takes the money of purchases, plans and auto-reloads (ledger/payments/). */
  payments: paymentsSection.prefault({}),
  /** Values of `anthropic-beta` that the model's entry does not let pass: left out upstream, or answered with 400. */
  unknownBetas: z.enum(['drop', 'refuse']).default('drop'),
  /** Origins whose pages may call with a key ("https://app.example"; "*": all). What is public needs none of it. */
  browserOrigins: z.array(z.union([z.literal('*'), origin])).default([]),
  /**
   * Connections of clients at once: in all, and of one source address. The latter bounds requests where a client comes
   * through one of `trustedProxies`. One too many is closed, or its request answered with 429. Where `perAddress` is not
   * said it is the usual, or a quarter of `max` where that is less.
   */
  connections: z
    .strictObject({
      max: z.int().min(1).max(1_000_000).default(LIMITS.connectionsMax),
      perAddress: z.int().min(1).max(1_000_000).optional(),
    })
    .transform(withPart('max', 'perAddress', { usual: LIMITS.connectionsPerAddressMax, least: 1 }))
    .prefault({}),
  /**
   * Addresses and ranges of proxies in front. They are not counted by their address: behind them the client is the last
   * hop of `x-forwarded-for` that is none of them. That header is not believed from anyone else.
   */
  trustedProxies: z.array(addressRange).default(['127.0.0.0/8', '::1/128']),
  /**
   * Bytes of request bodies that there may be at once, from their arrival to their request's end, and of JSON answers
   * that are kept until they are whole: in all, and of one account; of all that never paid half of all together. Past the first a request is answered with 529, past the
   * other with 429; an answer goes out as it comes.
   */
  bodies: z
    .strictObject({
      maxBytes: z.int().min(LIMITS.requestBodyBytesMax).max(1e12).default(LIMITS.bodiesBytesMax),
      maxBytesPerAccount: z.int().min(LIMITS.requestBodyBytesMax).max(1e12).optional(),
    })
    .transform(
      withPart('maxBytes', 'maxBytesPerAccount', {
        usual: LIMITS.bodiesBytesPerAccountMax,
        least: LIMITS.requestBodyBytesMax,
      }),
    )
    .prefault({}),
  /** What one account, and one key of it, may ask for in a minute and at once. */
  rateLimits: rateLimitsSchema.prefault({}),
  /** How long an answer is read on after its client has left, where its provider's `onClientDisconnect` is `drain`. */
  drainMs: milliseconds(LIMITS.drainMs).default(LIMITS.drainMs),
  /** Answers that are read on at once after their clients have left; a further one's upstream is left at once. */
  drainsMax: z.int().min(0).max(LIMITS.requestsInFlightMax).default(LIMITS.drainsMax),
  /**
   * The most of those that are of one account: others' clients leave, too, and are to find a place. Where it is not said,
   * the usual, or a quarter of `drainsMax` where that is less.
   */
  drainsMaxPerAccount: z.int().min(0).max(LIMITS.requestsInFlightMax).optional(),
  /** A client that takes no byte of an answer that waits for it, for so long, has left: it is charged as one that did. */
  clientStallMs: milliseconds(LIMITS.idleMs).default(LIMITS.clientStallMs),
  /** How long a gateway that is stopped waits for what is under way. */
  shutdownDrainMs: milliseconds(10 * LIMITS.shutdownDrainMs).default(LIMITS.shutdownDrainMs),
  /** A line for each request that has ended, as JSON. */
  accessLog: z.enum(['stdout', 'none']).default('stdout'),
  /** Spans of requests, and of their calls of upstreams, sent by OTLP over HTTP; absent is nowhere. */
  tracing: z
    .strictObject({
      /** Such as `http://127.0.0.1:4318/v1/traces`. */
      otlpUrl: httpUrl,
      /** Which part of all requests is kept, from 0 to 1, whatever their callers say of their own traces. */
      ratio: z.number().min(0).max(1).default(1),
    })
    .optional(),
  logLevel: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

/** What a configuration file holds, as it is written. */
export const configurationSchema = sections.transform(
  withPart('drainsMax', 'drainsMaxPerAccount', { usual: LIMITS.drainsPerAccountMax, least: 0 }),
);

type Parsed = z.infer<typeof configurationSchema>;
export type ProviderConfiguration = z.infer<typeof providerSchema> & {
  readonly apiKey: string;
  /** The variable or the file that has it. */
  readonly apiKeyPlace: string;
};
export type EventLogConfiguration =
  | { readonly kind: 'sqlite' }
  | { readonly kind: 'eventstoredb'; readonly connectionString: string; readonly streamPrefix: string };
/** Where the key of seals is: in a file, in a variable's text, or in the data folder, which gets one where it has none. */
type SealKeyPlace =
  | { readonly type: 'file'; readonly file: string }
  | { readonly type: 'text'; readonly pem: string }
  | { readonly type: 'data folder' };
export interface SealsConfiguration {
  readonly events: number;
  readonly afterMs: number;
  /** Null where nothing is sealed. */
  readonly key: SealKeyPlace | null;
  readonly copyTo: string | null;
}
export interface Configuration
  extends Omit<Parsed, 'providers' | 'eventLog' | 'kafka' | 'proxies' | 'seals' | 'payments'> {
  /** The file that was read; null where there is none and everything has its default. */
  readonly file: string | null;
  readonly providers: Readonly<Record<string, ProviderConfiguration>>;
  readonly eventLog: EventLogConfiguration;
  readonly proxies: 'one' | 'many';
  readonly kafka: KafkaConfiguration | null;
  readonly seals: SealsConfiguration;
  readonly payments: PaymentsConfiguration;
}

/** What is wrong with a configuration: all faults together, each with its path. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly faults: readonly string[];

  constructor(source: string, faults: readonly string[]) {
    super(`${source}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}
