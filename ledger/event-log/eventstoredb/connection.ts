import type { CallOptions as GrpcOptions, Metadata } from '@grpc/grpc-js';
import { EventLogError } from '../../../contracts/event-log.ts';
import type { OutageNews } from '../../outage-news.ts';
import { within } from '../../within.ts';
import { clientOf } from './client-of.ts';
import { faultOf } from './fault.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';
import { StreamsClient } from './streams-wire.ts';

export interface Logger {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface ConnectionParts {
  readonly logger: Logger | null;
  /** Of the server, whichever role meets it. */
  readonly outage: OutageNews;
}

const MADE_ANEW = 'the EventStoreDB client is made anew';

type CallArguments = [metadata: Metadata, options: GrpcOptions];

/** The members of the client that its own methods are made of; it types them as protected. */
interface ClientCore {
  getGRPCClient(type: typeof StreamsClient, name: string): Promise<StreamsClient>;
  callArguments(
    options: { requiresLeader?: boolean; deadline?: number },
    call: { deadline?: number } | undefined,
  ): CallArguments;
  /** Drops the channel after an error that asks for it, and turns to the leader that the error names. */
  handleError(grpc: StreamsClient, error: Error): Promise<void>;
  /** Asked once; a server that has no such call is of version `unknown`. */
  readonly capabilities: Promise<{ readonly serverVersion: string }>;
}

export interface CallOptions {
  readonly connectMs: number;
  /** Null: the call has no end of its own. */
  readonly deadlineMs: number | null;
  readonly requiresLeader: boolean;
  /** How often it is sent on to another node that is said to lead; by default EVENTSTOREDB_LIMITS.leaderHopsMax. */
  readonly leaderHopsMax?: number;
}

interface ClientInUse {
  readonly client: ClientCore;
  grpc: StreamsClient | null;
  underWay: number;
  isRetired: boolean;
}

/** One client for one role, replaced where an error speaks against it; calls under way end on the old one. */
export class Connection {
  readonly #role: string;
  readonly #create: () => ClientCore;
  readonly #logger: Logger | null;
  readonly #outage: OutageNews;
  #current: ClientInUse;
  #suspicions = 0;
  #isClosed = false;

  /** @throws EventLogError `invalid` when the connection string is none; it is not told, for it may hold a password */
  constructor(role: string, connectionString: string, { logger, outage }: ConnectionParts) {
    this.#role = role;
    this.#create = () => clientOf(connectionString) as unknown as ClientCore;
    this.#logger = logger;
    this.#outage = outage;
    this.#current = this.#newClient();
  }

  /**
   * Makes a call: raw gRPC errors come out as they are, and what was never begun as EventLogError `unavailable`. One that goes
   * on for long says whenever it has heard of the server.
   */
  async call<Result>(
    options: CallOptions,
    action: (grpc: StreamsClient, args: CallArguments, heard: () => void) => Promise<Result>,
  ): Promise<Result> {
    const { requiresLeader, deadlineMs, leaderHopsMax = EVENTSTOREDB_LIMITS.leaderHopsMax } = options;
    for (let hops = 0; ; hops++) {
      const used = this.#current;
      used.underWay++;
      try {
        const grpc = await this.#grpcOf(used, options.connectMs);
        const args = used.client.callArguments(
          { requiresLeader, ...(deadlineMs === null ? {} : { deadline: deadlineMs }) },
          deadlineMs === null ? { deadline: Number.POSITIVE_INFINITY } : undefined,
        );
        try {
          const result = await action(grpc, args, () => {
            if (used === this.#current) this.#answered();
          });
          this.#answered();
          return result;
        } catch (error) {
          await this.#afterFailure(used, grpc, error);
          if (!faultOf(error).isNotLeader || hops >= leaderHopsMax) throw error;
        }
      } finally {
        used.underWay--;
        this.#release(used);
      }
    }
  }

  /** @throws EventLogError `unavailable` where the server does not say it within the time */
  async serverVersion(timeMs: number): Promise<string> {
    try {
      const told = await within(timeMs, this.#current.client.capabilities);
      if (told === null) throw new Error(`no answer in ${timeMs} ms`);
      return told.serverVersion;
    } catch (cause) {
      const why = faultOf(cause).reason;
      throw new EventLogError('unavailable', `EventStoreDB does not tell its version: ${why}`, { cause });
    }
  }

  /** Closes the channel when the last call under way has ended. */
  close(): void {
    this.#isClosed = true;
    this.#retire(this.#current);
  }

  async #grpcOf(used: ClientInUse, connectMs: number): Promise<StreamsClient> {
    try {
      const grpc = await within(connectMs, used.client.getGRPCClient(StreamsClient, this.#role));
      if (grpc === null) throw new Error(`no node was found in ${connectMs} ms`);
      used.grpc = grpc;
      return grpc;
    } catch (cause) {
      this.#suspect(used, cause);
      throw new EventLogError('unavailable', `EventStoreDB cannot be reached: ${faultOf(cause).reason}`, { cause });
    }
  }

  async #afterFailure(used: ClientInUse, grpc: StreamsClient, error: unknown): Promise<void> {
    // One of ours says that the call was not answered in time.
    if (error instanceof EventLogError) return this.#suspect(used, error);
    try {
      // The client does not wait for this, so that a failure in it would end the process. It may itself wait for a new
      // channel that another call is looking for.
      if (error instanceof Error)
        await within(EVENTSTOREDB_LIMITS.handleErrorMs, used.client.handleError(grpc, error).then(Object));
    } catch (cause) {
      this.#replace(used, cause);
      return;
    }
    const { client } = faultOf(error);
    if (client === 'poisoned') this.#replace(used, error);
    else if (client === 'suspect') this.#suspect(used, error);
  }

  #answered(): void {
    this.#suspicions = 0;
    this.#outage.over();
  }

  #suspect(used: ClientInUse, error: unknown): void {
    if (used !== this.#current || ++this.#suspicions < EVENTSTOREDB_LIMITS.suspicionsMax) return;
    // Where no call is answered this comes again and again, for each role.
    this.#replace(used, error, this.#outage.isNews(MADE_ANEW) ? 'warn' : 'debug');
  }

  #replace(used: ClientInUse, error: unknown, level: 'warn' | 'debug' = 'warn'): void {
    if (used !== this.#current || this.#isClosed) return;
    this.#logger?.[level]({ role: this.#role, reason: faultOf(error).reason }, MADE_ANEW);
    this.#suspicions = 0;
    try {
      this.#current = this.#newClient();
    } catch (cause) {
      // A certificate that is gone meanwhile, say: the old client is better than none.
      this.#logger?.error(
        { role: this.#role, reason: faultOf(cause).reason },
        'the EventStoreDB client cannot be made',
      );
      return;
    }
    this.#retire(used);
  }

  #newClient(): ClientInUse {
    return { client: this.#create(), grpc: null, underWay: 0, isRetired: false };
  }

  #retire(used: ClientInUse): void {
    used.isRetired = true;
    this.#release(used);
  }

  #release(used: ClientInUse): void {
    if (!used.isRetired || used.underWay > 0) return;
    used.grpc?.close();
    used.grpc = null;
  }
}
