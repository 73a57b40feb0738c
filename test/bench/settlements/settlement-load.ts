import { performance } from 'node:perf_hooks';
import type { EventLog } from '../../../contracts/event-log.ts';
import { type AccountId, keyId, type RequestId } from '../../../contracts/ids.ts';
import type { AccountRepository } from '../../../ledger/account/account-repository.ts';
import { LogBreaker } from '../../../ledger/log-breaker.ts';
import { Settlement } from '../../../ledger/settlement/settlement.ts';
import { toldLog } from '../../../ledger/told-log.ts';
import { Latencies } from '../load/latencies.ts';
import { CARD, usageNumber } from './bench-usage.ts';
import type { SettlementWindow } from './settlement-protocol.ts';

/** Requests between submission and settlement: whenever one is settled, the next one finishes. */
const OUTSTANDING = 1_000;
const KEY = keyId('key_bench');

/**
 * Requests that finish at accounts drawn at random, as many as the settlement can take: the gateway's own settlement
 * and the projections' own views, without the HTTP before them.
 */
export class SettlementLoad {
  readonly #settlement: Settlement;
  readonly #submittedMs = new Map<RequestId, number>();
  readonly #latency = new Latencies();
  readonly #log: CountingLog;
  #accounts: readonly AccountId[] = [];
  #isRunning = false;
  #sequence = 0;
  #settled = 0;
  #markedMs = 0;

  constructor(log: EventLog, repository: AccountRepository, onFailure: (reason: string) => void) {
    const breaker = new LogBreaker({ clock: Date.now });
    this.#log = countAppends(toldLog(log, breaker));
    breaker.onFailed((error) => onFailure(`the log is away: ${String(error)}`));
    this.#settlement = new Settlement({
      log: this.#log,
      repository,
      clock: Date.now,
      onSettled: (_accountId, { requestId }) => this.#onSettled(requestId),
      onStuck: (requestId, error) => onFailure(`${requestId} is stuck: ${String(error)}`),
      breaker,
    });
  }

  start(accounts: readonly AccountId[]): void {
    this.#accounts = accounts;
    this.#isRunning = true;
    for (let index = 0; index < OUTSTANDING; index++) this.#submitNext();
  }

  mark(): void {
    this.#settled = 0;
    this.#log.appends = 0;
    this.#latency.clear();
    this.#markedMs = performance.now();
  }

  read(): SettlementWindow {
    return {
      seconds: (performance.now() - this.#markedMs) / 1000,
      settled: this.#settled,
      appends: this.#log.appends,
      ...this.#latency.summary(),
    };
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#settlement.idle();
  }

  #onSettled(requestId: RequestId): void {
    this.#settled++;
    const submittedMs = this.#submittedMs.get(requestId);
    this.#submittedMs.delete(requestId);
    if (submittedMs !== undefined) this.#latency.add((performance.now() - submittedMs) * 1000);
    if (this.#isRunning) this.#submitNext();
  }

  #submitNext(): void {
    const account = this.#accounts[Math.floor(Math.random() * this.#accounts.length)];
    if (account === undefined) throw new Error('a load has at least one account');
    const usage = usageNumber(this.#sequence++, KEY);
    this.#submittedMs.set(usage.requestId, performance.now());
    this.#settlement.submit({ accountId: account, usage, card: CARD, leaseId: null });
  }
}

interface CountingLog extends EventLog {
  appends: number;
}

function countAppends(log: EventLog): CountingLog {
  const counting: CountingLog = {
    appends: 0,
    append: (...call) => {
      counting.appends++;
      return log.append(...call);
    },
    readStream: (...call) => log.readStream(...call),
    readAll: (...call) => log.readAll(...call),
    subscribeAll: (options) => log.subscribeAll(options),
    headPosition: () => log.headPosition(),
    close: () => log.close(),
  };
  return counting;
}
