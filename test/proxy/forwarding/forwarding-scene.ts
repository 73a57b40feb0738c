import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import pino from 'pino';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import type { UsageRecorded } from '../../../contracts/events.ts';
import { accountId, keyId, requestId } from '../../../contracts/ids.ts';
import { microUsd } from '../../../contracts/money.ts';
import { EMPTY_CATALOG } from '../../../ledger/catalog/catalog-state.ts';
import { decideCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import type { Journal } from '../../../ledger/journal/journal.ts';
import { termsOf } from '../../../proxy/admission/terms.ts';
import type { Caller } from '../../../proxy/caller.ts';
import { ClientAnswer } from '../../../proxy/forwarding/client-answer.ts';
import { Drains } from '../../../proxy/forwarding/drains.ts';
import type { ForwardedRequest } from '../../../proxy/forwarding/forwarded-request.ts';
import { Forwarder } from '../../../proxy/forwarding/forwarder.ts';
import { Holds } from '../../../proxy/holds.ts';
import { CallerUse } from '../../../proxy/rate-limits/caller-use.ts';
import { RateTicket } from '../../../proxy/rate-limits/rate-ticket.ts';
import type { RequestAccounting } from '../../../proxy/request-accounting.ts';
import { IntakeTurns } from '../../../proxy/request-body/intake-turns.ts';
import { RequestBytes } from '../../../proxy/request-body/request-bytes.ts';
import { factsOf } from '../../../proxy/request-body/request-facts.ts';
import type { Upstream, UpstreamHeaders, UpstreamReceiver } from '../../../proxy/upstream/upstream.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { asking } from '../../fixtures/gateway/call.ts';
import { accountingWith } from '../../fixtures/gateway/request-accounting.ts';
import { TEST_CATALOG } from '../../fixtures/gateway/start-gateway.ts';

/** A client that takes no byte for half of it holds back for long. */
export const CLIENT_STALL_MS = 60_000;
const LIMITS = {
  requestsPerMinute: 60,
  inputTokensPerMinute: 1_000_000,
  outputTokensPerMinute: 1_000_000,
  concurrentRequests: 3,
  concurrentStreams: 3,
  concurrentCounts: 3,
};

/** One request in its forwarder, with no network, disk or ledger: the test is its upstream and its client, and moves its clock. */
export interface ForwardingScene {
  readonly clock: { nowMs: number };
  readonly forwarder: Forwarder;
  readonly client: ClientConnection;
  /** What it says reaches the forwarder. */
  readonly upstream: UpstreamReceiver;
  /** The same of each call so far, one a deployment. */
  readonly upstreams: readonly UpstreamReceiver[];
  /** What the forwarder has asked of its call, in order. */
  readonly asked: readonly ('pause' | 'resume' | 'abort')[];
  /** What is settled. */
  readonly usages: readonly UsageRecorded[];
  /** What the journal was told of its end: none where it was abandoned or is open. */
  readonly finished: readonly string[];
  readonly logLines: readonly string[];
  /** Calls under way of its caller. */
  readonly underWay: () => number;
  /** The call has its connection. */
  readonly begin: () => void;
}

interface ForwardingSceneOptions {
  readonly isStream?: boolean;
  /** The request's bytes as they are when it ends; those that it was read from otherwise. */
  readonly bytesAtEnd?: Buffer;
  readonly onClientDisconnect?: Upstream['onClientDisconnect'];
  /** Its call waits for a connection, until the scene's `begin`. */
  readonly waits?: boolean;
  /** In which answers take turns with those of other scenes. */
  readonly intake?: IntakeTurns;
  /** Whose request it is. */
  readonly account?: string;
  /** How many there are of the model; one otherwise. */
  readonly deployments?: number;
}

export const STREAM_HEAD: UpstreamHeaders = headOf('text/event-stream');
export const JSON_HEAD: UpstreamHeaders = headOf('application/json');

/** Its call has started, unless it waits. */
export function forwardingScene(options: ForwardingSceneOptions = {}): ForwardingScene {
  const { isStream = true, onClientDisconnect = 'cancel' } = options;
  const clock = { nowMs: Date.parse('2026-11-22T12:00:00Z') };
  const logLines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => logLines.push(line) });
  const { accounting, usages, finished } = accountingScene(clock, logger);
  const receivers: UpstreamReceiver[] = [];
  const upstream: Upstream = {
    name: 'driven',
    onClientDisconnect,
    countsTokens: false,
    keepsThreads: false,
    totalMs: 3_600_000,
    words: NO_SECRETS,
    waiting: 0,
    send: (_call, receiver) => {
      receivers.push(receiver);
      return () => undefined;
    },
    close: async () => undefined,
  };
  const underWay = { message: 0, stream: 0, count: 0 };
  const request = requestOf({
    account: 'acct_1',
    bytesAtEnd: undefined,
    deployments: 1,
    ...options,
    isStream,
    clock,
    underWay,
    accounting,
    upstream,
  });
  const client = new ClientConnection();
  const parts = {
    accounting,
    drains: new Drains({ max: 1, maxOfAccount: 1, ms: 3_600_000 }),
    intake: options.intake ?? new IntakeTurns(),
    logger,
    clock: () => clock.nowMs,
    monotonic: () => clock.nowMs,
    chargeInterrupted: 'none' as const,
    clientStallMs: CLIENT_STALL_MS,
  };
  const answer = new ClientAnswer(client.response, request.money.requestId, request);
  const forwarder = new Forwarder(request, answer, parts, () => undefined);
  forwarder.start();
  const [receiver] = receivers;
  if (receiver === undefined) throw new Error('the forwarder calls its upstream when it starts');
  const asked: ('pause' | 'resume' | 'abort')[] = [];
  const begin = (): void =>
    receiver.onStart({
      pause: () => asked.push('pause'),
      resume: () => asked.push('resume'),
      abort: () => asked.push('abort'),
    });
  if (options.waits !== true) begin();
  return {
    clock,
    forwarder,
    client,
    upstream: receiver,
    upstreams: receivers,
    asked,
    usages,
    finished,
    logLines,
    underWay: () => underWay.message + underWay.stream,
    begin,
  };
}

function accountingScene(clock: ForwardingScene['clock'], logger: pino.Logger) {
  const usages: UsageRecorded[] = [];
  const finished: string[] = [];
  const journal: Pick<Journal, 'begin' | 'finish' | 'settle' | 'durable' | 'keepAside'> = {
    begin: () => undefined,
    finish: (_id, text) => void finished.push(text),
    settle: () => undefined,
    keepAside: () => undefined,
    durable: async () => undefined,
  };
  const accounting = accountingWith({
    journal,
    holds: new Holds(),
    settlement: { submit: ({ usage }) => void usages.push(usage) },
    logger,
    clock: () => clock.nowMs,
  });
  return { accounting, usages, finished };
}

interface RequestParts {
  readonly isStream: boolean;
  readonly clock: ForwardingScene['clock'];
  readonly underWay: Record<'message' | 'stream' | 'count', number>;
  readonly accounting: RequestAccounting;
  readonly upstream: Upstream;
  readonly bytesAtEnd: Buffer | undefined;
  readonly account: string;
  readonly deployments: number;
}

function requestOf(parts: RequestParts): ForwardedRequest {
  const { isStream, clock, underWay, accounting, upstream, bytesAtEnd, account, deployments } = parts;
  const file = catalogFileSchema.parse(TEST_CATALOG);
  const models = decideCatalog(EMPTY_CATALOG, file, new Date(clock.nowMs).toISOString())?.models ?? [];
  const model = models.find(({ id }) => id === 'opal-medium');
  if (model === undefined) throw new Error('the catalog of the tests has no opal-medium');
  const terms = termsOf(model, { header: null, saysSpeed: false, unknownBetas: 'drop' });
  const body = Buffer.from(JSON.stringify(asking(model.id, { stream: isStream })));
  const facts = factsOf('message', body, null);
  if ('code' in terms || 'code' in facts) throw new Error('the request of the tests is refused');
  const { id, version, hash } = terms.rateCard;
  const money = accounting.open(requestId(`req_${'0'.repeat(32)}`), terms.rateCard, microUsd(1_000_000n), {
    accountId: accountId('acct_1'),
    accountRevision: 0,
    keyId: keyId('key_1'),
    model: model.id,
    upstream: { provider: upstream.name, model: model.id },
    startedAt: new Date(clock.nowMs).toISOString(),
    rateCard: { id, version, hash },
  });
  const monotonic = (): number => clock.nowMs;
  const uses = [new CallerUse(LIMITS, clock.nowMs), new CallerUse(LIMITS, clock.nowMs)] as const;
  const ticket = new RateTicket('message', { caller: {} as Caller, uses, monotonic, underWay });
  ticket.asked({ isStream, inputTokens: 10 });
  return {
    money,
    model,
    terms,
    bytes: new RequestBytes([bytesAtEnd ?? body]),
    facts,
    room: { owner: { accountId: accountId(account), hasPaid: true }, take: () => null },
    maxTokens: facts.maxTokens,
    isStream,
    asksForFast: false,
    mayRunFast: false,
    inputTokensCounted: null,
    version: null,
    trace: null,
    deprecation: null,
    ticket,
    observed: null,
    rateLimitHeaders: () => [],
    deployments: Array(deployments).fill({ upstream, model: model.id }),
    refuseByStanding: () => null,
  };
}

/** A client's connection with Node's own answer on it, which takes what comes, or holds it back. */
export class ClientConnection extends Duplex {
  readonly response: ServerResponse;
  readonly #pieces: Buffer[] = [];
  #holdsBack = false;
  #goOn: (() => void) | null = null;

  constructor() {
    super();
    // Only what a connection has of a stream is asked of it.
    const socket = this as unknown as Socket;
    this.response = new ServerResponse(new IncomingMessage(socket));
    this.response.assignSocket(socket);
    this.on('error', () => undefined);
    // As Node's server tells an answer of its connection.
    this.on('drain', () => this.response.emit('drain'));
  }

  /** Whole, or cut where `destroyed` is true and `response.writableFinished` is not. */
  get received(): string {
    return Buffer.concat(this.#pieces).toString();
  }

  holdBack(): void {
    this.#holdsBack = true;
  }

  readOn(): void {
    this.#holdsBack = false;
    this.#goOn?.();
  }

  override _read(): void {
    // It sends nothing more.
  }

  override _write(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#pieces.push(piece);
    if (this.#holdsBack) this.#goOn = done;
    else done();
  }
}

function headOf(contentType: string): UpstreamHeaders {
  return { contentType, contentLength: null, contentEncoding: null, requestId: 'req_up', retryAfterS: null };
}
