import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { catchUpOrPutAside } from '../../ledger/account/account-repository.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { untilLogAnswers } from '../../ledger/until-log-answers.ts';
import { within } from '../../ledger/within.ts';
import type { Projections } from '../../projections/projections.ts';
import type { TimePassed } from '../clock/time-passed.ts';
import { longestSettledMs } from '../longest-request.ts';
import { ClaimDoubt } from './claim-doubt.ts';
import { folderIdentity } from './folder-identity.ts';
import { type Claim, ProxyClaim } from './proxy-claim.ts';

interface GatewayClaimOptions {
  readonly configuration: Configuration;
  readonly log: EventLog;
  readonly projections: Pick<Projections, 'accounts'>;
  readonly clock: () => number;
  readonly passed: TimePassed;
  readonly logger: Logger;
  /** What is to be said to whoever asks for more. */
  readonly onFenced: (why: string) => void;
}

/** The claim of a gateway on its name, and what it does not let it admit. */
export class GatewayClaim {
  readonly #claim: ProxyClaim;
  readonly #doubt: ClaimDoubt;
  readonly #logger: Logger;

  private constructor(claim: ProxyClaim, doubt: ClaimDoubt, logger: Logger) {
    this.#claim = claim;
    this.#doubt = doubt;
    this.#logger = logger;
  }

  /** Null where one proxy's log is in its folder, copied with it; elsewhere a copy has the same name. */
  static of(options: GatewayClaimOptions): GatewayClaim | null {
    const { proxies, eventLog } = options.configuration;
    if (proxies === 'one' && eventLog.kind === 'sqlite') return null;
    const claim = claimOf(options);
    return new GatewayClaim(claim, doubtOf(claim, options), options.logger);
  }

  /** Null before the log has taken it. */
  get current(): Claim | null {
    return this.#claim.current;
  }

  /** Why nothing that costs anything may be admitted; null where it may. */
  doubt(): string | null {
    return this.#doubt.why();
  }

  mayBeSpentElsewhere(): boolean {
    return this.#doubt.mayBeSpentElsewhere();
  }

  owns(epoch: number): boolean {
    return this.#claim.owns(epoch);
  }

  get failed(): Promise<unknown> {
    return this.#doubt.failed;
  }

  /** Waits for a log that is away. @throws Error when closed meanwhile */
  async take(): Promise<void> {
    await this.#claim.take();
    this.#doubt.start();
  }

  async close(): Promise<void> {
    await this.#doubt.close();
    await this.#claim.close();
  }

  /** The journal is closed: the folder has all. The log is told, too, where it is there and answers soon. */
  async ended({ isLogAway }: { readonly isLogAway: boolean }): Promise<void> {
    this.#claim.ended();
    if (isLogAway) return;
    const said = this.#claim
      .sayEnded()
      .catch((error: unknown) =>
        this.#logger.debug({ err: error }, 'that this proxy has stopped was not written down'),
      );
    await within(LIMITS.shutdownSayEndedMs, said);
  }
}

function claimOf({ configuration, log, clock, passed, logger, onFenced }: GatewayClaimOptions): ProxyClaim {
  const isOnly = configuration.proxies === 'one';
  return new ProxyClaim({
    log,
    dataFolder: configuration.data,
    folder: folderIdentity(journalFolder(configuration.data)),
    isOnly,
    clock,
    passed,
    logger,
    onFenced: ({ proxy, epoch }) => {
      const then = isOnly ? 'takes the name back, and waits' : 'takes a new name';
      const why = `another process has claimed the name ${proxy} (epoch ${epoch}), so this data folder was copied: what is under way here is settled; started again, this gateway ${then}`;
      logger.error({ proxy, epoch }, why);
      onFenced(why);
    },
  });
}

function doubtOf(claim: ProxyClaim, options: GatewayClaimOptions): ClaimDoubt {
  const { configuration, log, projections, clock, passed, logger } = options;
  const { accounts } = projections;
  const onFirst = (error: Error): void =>
    logger.warn({ err: error }, 'the event log does not answer; what an older process has settled waits');
  return new ClaimDoubt({
    claim,
    isOnly: configuration.proxies === 'one',
    unseenMsMax: configuration.projections.maxAgeMs,
    longestMs: longestSettledMs(configuration),
    // Read from the log itself: the views may be fed by what is behind it.
    catchUp: async (signal) => {
      for (const accountId of accounts.balance.ids())
        await untilLogAnswers(() => catchUpOrPutAside(log, accounts, accountId), { signal, onFirst });
    },
    clock,
    passed,
    logger,
  });
}
