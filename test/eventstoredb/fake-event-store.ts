import gossip from '@eventstore/db-client/generated/gossip_grpc_pb.js';
import features from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_grpc_pb.js';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { appendCall } from './append-call.ts';
import { batchAppendCall } from './batch-append-call.ts';
import { capabilitiesCall } from './capabilities-call.ts';
import { deleteCall, tombstoneCall } from './delete-call.ts';
import { Faults } from './faults.ts';
import { Gossip, gossipCall } from './gossip.ts';
import { Listener } from './listener.ts';
import { readCall } from './read-call.ts';
import { SeenCalls } from './seen-calls.ts';
import type { ServerNode, ServerVersion } from './server-node.ts';
import type { StoredEvent } from './stored-event.ts';
import { StoredLog } from './stored-log.ts';

export interface FakeEventStoreOptions {
  /** Default any free one. */
  readonly port?: number;
  /** What is stored; several nodes of one cluster share it. Default an empty one in memory. */
  readonly log?: StoredLog;
  /** Serves TLS with this key and certificate (PEM). Only over TLS does the client send credentials. */
  readonly tls?: { readonly key: string; readonly certificate: string };
  /** Users with their passwords: others are refused. Default everybody may do everything. */
  readonly users?: Readonly<Record<string, string>>;
  /** Default the newest. */
  readonly version?: ServerVersion;
  /** False: a server that does not know Streams.BatchAppend. */
  readonly batchAppend?: boolean;
}

export interface FakeEventStore {
  readonly port: number;
  /** `esdb://127.0.0.1:<port>?tls=false` */
  readonly connectionString: string;
  readonly faults: Faults;
  readonly gossip: Gossip;
  /** What clients have called, with their `authorization` header. */
  readonly calls: SeenCalls;
  readonly log: StoredLog;
  /** Open TCP connections. */
  readonly connections: number;
  /** What a read of $all would give, for assertions that go around the client. */
  events(): readonly StoredEvent[];
  /** Puts $maxAge (seconds), $maxCount or $tb on a stream: hides events from reads of the stream, not of $all. */
  setMetadata(stream: string, metadata: Readonly<Record<string, unknown>>): void;
  /** Resets every connection; the server goes on. */
  cutConnections(): void;
  /** Cuts every connection and call at once, like kill -9 of the server; what was stored stays. */
  kill(): Promise<void>;
  /** Comes back on the same port with what was stored. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** A server that speaks EventStoreDB's gRPC protocol on the loopback interface. README.md says what it models. */
export async function startFakeEventStore(options: FakeEventStoreOptions = {}): Promise<FakeEventStore> {
  const store = new FakeServer(options);
  await store.restart();
  return store;
}

interface Run {
  readonly node: ServerNode;
  readonly grpc: Server;
  readonly listener: Listener;
}

class FakeServer implements FakeEventStore {
  readonly faults = new Faults();
  readonly gossip = new Gossip();
  readonly calls = new SeenCalls();
  readonly log: StoredLog;
  readonly #options: FakeEventStoreOptions;
  #port: number;
  #run: Run | null = null;

  constructor(options: FakeEventStoreOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
    this.log = options.log ?? new StoredLog();
  }

  get port(): number {
    return this.#port;
  }

  get connectionString(): string {
    return `esdb://127.0.0.1:${this.#port}?tls=${this.#options.tls !== undefined}`;
  }

  get connections(): number {
    return this.#run?.listener.connections ?? 0;
  }

  events(): readonly StoredEvent[] {
    return this.log.events;
  }

  setMetadata(stream: string, metadata: Readonly<Record<string, unknown>>): void {
    this.log.setMetadata(stream, metadata);
  }

  cutConnections(): void {
    this.#run?.listener.cutAll();
  }

  async restart(): Promise<void> {
    await this.kill();
    const node = this.#node();
    const grpc = grpcServer(node);
    const listener = await Listener.open(grpc, this.#credentials(), this.#port);
    this.#port = listener.port;
    this.#run = { node, grpc, listener };
  }

  async kill(): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    this.#run = null;
    run.node.alive = false;
    await run.listener.close();
    run.grpc.forceShutdown();
  }

  async stop(): Promise<void> {
    await this.kill();
    // A log that was given belongs to who gave it.
    if (this.#options.log === undefined) this.log.close();
  }

  #node(): ServerNode {
    const store = this;
    const { users, batchAppend = true, version = '24.2' } = this.#options;
    return {
      log: this.log,
      faults: this.faults,
      gossip: this.gossip,
      seen: this.calls,
      batchAppend,
      version,
      underWay: new Map(),
      users: users === undefined ? null : new Map(Object.entries(users)),
      alive: true,
      get endpoint() {
        return { host: '127.0.0.1', port: store.#port };
      },
      isConnected: (peer) => store.#run?.listener.isConnected(peer) ?? false,
      cut: (peer) => store.#run?.listener.cut(peer),
    };
  }

  #credentials(): ServerCredentials {
    const { tls } = this.#options;
    if (tls === undefined) return ServerCredentials.createInsecure();
    return ServerCredentials.createSsl(null, [
      { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.certificate) },
    ]);
  }
}

/** What one message may have: more than any event of the server, as in the client. */
const MESSAGE_BYTES_MAX = 17 * 1_048_576;

function grpcServer(node: ServerNode): Server {
  const server = new Server({ 'grpc.max_receive_message_length': MESSAGE_BYTES_MAX });
  server.addService(streams.StreamsService, {
    append: appendCall(node),
    // A method without a handler is answered with UNIMPLEMENTED.
    ...(node.batchAppend ? { batchAppend: batchAppendCall(node) } : {}),
    read: readCall(node),
    delete: deleteCall(node),
    tombstone: tombstoneCall(node),
  });
  server.addService(gossip.GossipService, { read: gossipCall(node) });
  server.addService(features.ServerFeaturesService, { getSupportedMethods: capabilitiesCall(node) });
  return server;
}
