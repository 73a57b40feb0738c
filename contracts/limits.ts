import assert from 'node:assert/strict';

const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Every bound that crosses folders, in one place; what concerns one part alone stands in that part's `limits.ts`. */
export const LIMITS = Object.freeze({
  requestBodyBytesMax: 32 * MIB,
  /** Nesting of a request body: deeper is refused before anything recurses over it. */
  requestDepthMax: 512,
  /**
   * Elements and keys of a request body, counted by brackets and commas. A long conversation of an agent has thousands of
   * blocks of four or five keys each, beside tools with hundreds of keys: some ten thousand. As many as fit 32 MiB take a
   * parser and a validator seconds.
   */
  requestValuesMax: 200_000,
  /** Bytes of bodies and of answers kept whole: a thousand long conversations; of one account a quarter. */
  bodiesBytesMax: 512 * MIB,
  bodiesBytesPerAccountMax: 128 * MIB,
  /** A JSON answer of an upstream; a longer one is not passed on, for it could not be metered. */
  answerBytesMax: 64 * MIB,
  requestHeadersBytesMax: 32 * KIB,
  /** Connections of clients in all: each takes a descriptor, and a request under way another towards its upstream. */
  connectionsMax: 10_000,
  /** Of one source address: a backend or an office behind one address has some hundreds of requests under way. */
  connectionsPerAddressMax: 500,

  /** Requests that one connection sends before it has the answers to those before, or in one turn of the event loop: proxies that keep connections send none so. */
  requestsInTurnMax: 16,

  /** How often it is looked at how late the event loop is. */
  loopDelayLookMs: SECOND_MS,
  /** Late by this on the average of a look, for so many looks in a row, is behind: what is new is refused. */
  loopDelayShedMs: 500,
  loopDelayTimes: 2,
  /** Until it is late by no more than this. */
  loopDelayCalmMs: 100,
  /** What is read on of a body that has its answer: enough for a client that sends everything before it reads. */
  restOfBodyBytesMax: 64 * MIB,
  restOfBodyMs: 30 * SECOND_MS,
  /** From a request's first byte to its last. */
  requestReceiveMs: 5 * MINUTE_MS,

  /**
   * What a request's start and the time in its id may be apart: its body comes and it waits in between. More is refused, for
   * then it stood still, or its clock was set; and whoever looks at a ledger knows by it when a request was.
   */
  requestStartMs: 30 * MINUTE_MS,

  /** Requests between admission and settlement in one proxy. */
  requestsInFlightMax: 20_000,
  /** Upstream answers that are read on after their client has left. */
  drainsMax: 1_000,
  drainsPerAccountMax: 250,
  drainMs: 2 * MINUTE_MS,
  /** Upstream deployments tried for one request. */
  upstreamAttemptsMax: 4,

  connectMs: 10 * SECOND_MS,
  firstByteMs: 10 * MINUTE_MS,
  /** Silence between two pieces of an answer. SDK clients give up after 300 s of it. */
  idleMs: 5 * MINUTE_MS,
  requestTotalMs: HOUR_MS,
  /** A client that takes no byte of what waits for it for so long has left. */
  clientStallMs: 2 * MINUTE_MS,
  /** An upstream's answer to count_tokens, which a client waits for before its request starts. */
  countTokensMs: 30 * SECOND_MS,

  /** Requests of one account that are settled by one append. */
  settlementGroupMax: 128,
  /** How long a finished request waits for others of its account, so that they share an append. */
  settlementLingerMs: 8,
  /** How long an append that met a conflict waits until what was first comes by the subscription, before the stream is read for it. */
  conflictWaitMs: 50,
  /** Settlement appends under way at once, each of another account. */
  settlementAppendsMax: 64,
  /** Tries of one settlement append before it is put back in the queue and the log counts as away. */
  settlementAttemptsMax: 8,
  settlementBackoffMs: 50,
  settlementBackoffMaxMs: 5 * SECOND_MS,
  /** While the log is away one account tries as often as this; its first answer wakes all others. */
  settlementProbeMs: 250,
  /** The log counts as away for an account, too, once its appends have failed for so long: each may hang. */
  settlementRoundMs: 8 * SECOND_MS,
  /** While the log is away, who needs it waits so long for what a try brings: one more than its own turn. */
  logVerdictMs: 750,

  /** Views are written to disk this often while they change; less often where much of them does (projections/limits.ts). */
  viewFlushMs: 250,
  shutdownDrainMs: 30 * SECOND_MS,
  /** A request's body of which nothing has come for so long is not waited for by a gateway that stops. */
  shutdownBodyStillMs: 2 * SECOND_MS,
  /** Waiting for the last settlements and the view's last write after the streams have ended. */
  shutdownFlushMs: 10 * SECOND_MS,
  /** Writing into the log that this process has stopped. */
  shutdownSayEndedMs: SECOND_MS,
  /**
   * Of an end for which nobody asked (what the program cannot go on after): how long streams are waited for, how long all
   * of it may take from the fault on, and how long the process is held by what is open when all is said and closed. Then its
   * logs have so long to be taken, as at any end.
   */
  fatalDrainMs: 2 * SECOND_MS,
  fatalEndMs: 4_500,
  leaveMs: 2 * SECOND_MS,
  logsEndMs: 3 * SECOND_MS,

  /** For so long every live proxy has to have read a new form of events before it is written. */
  formsAdoptAfterMs: DAY_MS,
  /**
   * How late expired credits are written down. They are unusable from their instant; what is written is for good, and
   * clocks are mended within a week. At the least every request that may still burn them has ended.
   */
  expiryLateMs: 7 * DAY_MS,
  expiryLateMsMin: 2 * HOUR_MS,
  /** How often it is asked what became of payments that are open. */
  paymentsLookMs: MINUTE_MS / 2,
  /** Accounts whose payments are looked after at once; by the clock alone fewer, and so many in one turn of the event loop. */
  paymentsAtOnceMax: 16,
  paymentLooksAtOnceMax: 12,
  paymentLooksPerTurn: 32,
  /** How long after its end a month is closed by default, and at the least: as with expired credits. */
  statementGraceMs: 3 * DAY_MS,
  statementGraceMsMin: 2 * HOUR_MS,
  /** How often months to close are looked for, of how many accounts at a time they are closed, and how often each is tried among others' appends. */
  statementSweepMs: 10 * MINUTE_MS,
  statementAccountsMax: 1_000,
  statementAttemptsMax: 64,
  /** So long after it could be closed a month is said to be late. */
  statementLateMs: DAY_MS,
  /** How often that is looked for, and for how many accounts at a time. */
  expirySweepMs: 10 * MINUTE_MS,
  expirySweepAccountsMax: 1_000,
  /** Accounts that are brought from the views' file for it in one turn of the event loop, and that are looked at in one. */
  expiryLoadsPerTurn: 32,
  expiryLooksPerTurn: 1_000,
  /** Events that one seal covers, and how long one waits for it: by default, and at the most. */
  sealEvents: 10_000,
  sealEventsMax: 100_000,
  sealAfterMs: 60 * SECOND_MS,
  sealAfterMsMax: 24 * HOUR_MS,
  trialMs: 30 * DAY_MS,
  /** For so long credit can be spent that comes back to a grant which is over. */
  comesBackForMs: 30 * DAY_MS,

  /** What wall clock and monotonic clock may drift apart by within two `clockSteadyMs`: more is a jump. */
  clockJumpMs: 5 * SECOND_MS,
  /** For so long must readings agree before a clock that has jumped is believed again. */
  clockSteadyMs: MINUTE_MS,
  /** What a proxy's clock may be off the clock of the log's server, where that stamps events. */
  clockSkewMs: 10 * SECOND_MS,

  /**
   * A process that has not been able to take down usage for so long, for want of room or descriptors, says at /healthz that
   * it is not healthy. It goes on trying: a supervisor that starts it again frees descriptors, but makes no room.
   */
  unhealthyAfterMs: MINUTE_MS,
  /** How long one look of `gateway doctor` may take. */
  doctorLookMs: 10 * SECOND_MS,
  /** How long a start waits until accounts are found of which the log hides events: the log's server looks through all of it. */
  hiddenLookMs: 10_000,
  /** How long a proxy serves from views that the log no longer feeds. */
  viewsAgeMs: 5 * MINUTE_MS,
  /** A lease outlasts the longest request by this: in the first half a proxy admits under it, in the second it settles. */
  leaseSlackMs: 20 * MINUTE_MS,
  /** After so long every proxy that has the log in reach admits by a limit that was set: it takes less than half of it. */
  limitKnownMs: 2 * SECOND_MS,
  /** How long a request waits for credit that other proxies may give back, before it is refused. */
  leaseReclaimMs: 400,
  /** How long a request waits for its lease in all, before it is refused because the log is slow. */
  leaseWaitMs: 5 * SECOND_MS,

  /**
   * Requests that wait for credits that are being bought (`autoReload.waitMs`), in all and of one account, and how long at the
   * most: each has its body and a place among what its account may ask for at once.
   */
  reloadWaitingMax: 1_000,
  reloadWaitingPerAccountMax: 100,
  reloadWaitMsMax: 2 * MINUTE_MS,

  /**
   * Requests with keys that the views do not know yet: how many wait until those have come to the log's head, how long one look at that is
   * waited for, and how long the next one lets it wait. Who waits does so for two looks and the pause at the most; what comes of
   * its body meanwhile takes memory, though it is a stranger's.
   */
  unknownKeysWaitingMax: 100,
  unknownKeyLookMs: 250,
  unknownKeyPauseMs: 25,

  /** Bytes that one event may have, and one append together. */
  eventBytesMax: 256 * KIB,
  appendBytesMax: 1_000_000,
  /**
   * What one debit says of the grants that it takes from, and so what all grants of an account that have something left may
   * take there: thousands with ids that are made up, some hundred with the longest of an operator's own.
   */
  debitGrantsBytesMax: 192 * KIB,
  /** Grants that are written off by one append. */
  expiriesPerAppendMax: 128,
  catalogModelsMax: 200,
  catalogPlansMax: 50,
  /** What a plan costs, gives or lets owe, in USD. */
  planUsdMax: 1_000_000,
  /** Less than the shortest month: a period that is not paid is over before the next one begins. */
  planGraceDaysMax: 27,
  /** Tokens of a context window in a catalog file: far above any model's, and in all rounds of a request still exact. */
  contextWindowMax: 100_000_000,
  /** The dearest price of a catalog file, in USD: far above any that is meant, and below what a slip of the hand writes. */
  usdPerMTokMax: 1_000_000,
  usdPerUseMax: 10_000,
  /** Names of what one model bills by the use. */
  pricedUsesMax: 32,
  /** Of one account. */
  membersMax: 1_000,
  /** Of one account that are valid at once, and of one of its members who is no owner: nobody alone takes all that the others may have. */
  keysMax: 1_000,
  keysOfMemberMax: 200,
  /** Of a monthly limit: percents that are told of. */
  thresholdsMax: 10,
  /** How long the secret before goes on when a key is rotated: where nothing is said, and at most. */
  keyOverlapMs: 24 * HOUR_MS,
  keyOverlapMsMax: 30 * DAY_MS,
  /** Characters of a reason or a name that an operator gives. */
  operatorTextMax: 500,
  /** Digits of an amount in an event: more than the dearest cost of the largest counts has (contracts/rate-card.ts). */
  amountDigitsMax: 60,
});

assert(
  LIMITS.requestBodyBytesMax <= LIMITS.bodiesBytesPerAccountMax &&
    LIMITS.bodiesBytesPerAccountMax <= LIMITS.bodiesBytesMax,
  'the longest body has room',
);
assert(LIMITS.connectionsPerAddressMax <= LIMITS.connectionsMax, 'one source does not take all connections');
assert(LIMITS.connectionsMax <= LIMITS.requestsInFlightMax, 'a connection has one request under way');
assert(LIMITS.loopDelayCalmMs < LIMITS.loopDelayShedMs, 'what is shed does not flutter');
assert(
  2 * LIMITS.shutdownBodyStillMs < LIMITS.shutdownDrainMs,
  'a body that does not come is no reason to drain for long',
);
assert(LIMITS.restOfBodyMs < LIMITS.requestReceiveMs, 'a rest that nobody wants has less time than a body');
assert(
  2 * (LIMITS.requestReceiveMs + LIMITS.countTokensMs + LIMITS.leaseWaitMs + LIMITS.reloadWaitMsMax) <
    LIMITS.requestStartMs,
  'a request that comes slowly and waits starts all the same',
);
assert(LIMITS.drainMs <= LIMITS.requestTotalMs, 'a drain ends within its request');
assert(LIMITS.clientStallMs < LIMITS.idleMs, 'a client that holds an upstream back has left before the upstream has');
assert(
  LIMITS.requestTotalMs < LIMITS.expiryLateMsMin && LIMITS.expiryLateMsMin <= LIMITS.expiryLateMs,
  'a request ends before the credits it may burn are written off',
);
assert(LIMITS.drainsMax <= LIMITS.requestsInFlightMax, 'a drain is a request in flight');
assert(LIMITS.drainsPerAccountMax < LIMITS.drainsMax, 'one account does not have all drains');
assert(
  LIMITS.idleMs <= LIMITS.requestTotalMs && LIMITS.firstByteMs <= LIMITS.requestTotalMs,
  'the total bounds the parts',
);
assert(2 * LIMITS.viewsAgeMs <= LIMITS.leaseSlackMs / 2, 'a proxy that serves without the log still has its leases');
assert(
  4 * (LIMITS.clockSkewMs + LIMITS.clockJumpMs) < LIMITS.leaseSlackMs,
  'two proxies at their bounds agree on leases',
);
assert(LIMITS.keysOfMemberMax < LIMITS.keysMax, 'no member alone has all keys that an account may have');
assert(LIMITS.paymentLooksAtOnceMax < LIMITS.paymentsAtOnceMax, 'who waits for a payment stands behind no renewals');
assert(LIMITS.reloadWaitingPerAccountMax < LIMITS.reloadWaitingMax, 'one account does not wait in the place of all');
assert(LIMITS.unknownKeysWaitingMax < LIMITS.requestsInFlightMax, 'keys that nobody has do not take all places');
assert(LIMITS.leaseReclaimMs < LIMITS.leaseWaitMs, 'a wait for others is part of the wait for a lease');
assert(LIMITS.eventBytesMax <= LIMITS.appendBytesMax, 'an append holds at least one event');
assert(
  LIMITS.debitGrantsBytesMax + 64 * KIB <= LIMITS.eventBytesMax,
  'a debit over all grants of an account is an event',
);
assert(
  LIMITS.expiriesPerAppendMax * 2 * 3 * LIMITS.operatorTextMax <= LIMITS.appendBytesMax,
  'an append takes all that expires at once, twice as long as the longest ids',
);
assert(LIMITS.settlementProbeMs < LIMITS.settlementBackoffMaxMs, 'the probe comes before the others');
assert(
  2 * LIMITS.settlementProbeMs < LIMITS.logVerdictMs,
  'who waits for a verdict sees a turn that began after it came',
);
assert(LIMITS.settlementBackoffMs < LIMITS.settlementBackoffMaxMs, 'a back-off grows to its bound');
assert(LIMITS.fatalDrainMs < LIMITS.fatalEndMs, 'what was drained at an end can still be closed');
assert(
  LIMITS.fatalEndMs + LIMITS.leaveMs + LIMITS.logsEndMs < 10 * SECOND_MS,
  'a process that cannot go on is gone when it is said to be',
);
