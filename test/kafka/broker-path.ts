import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { frames } from './frames.ts';
import { type ProducedPartition, producedPartitions, refusal } from './produce-wire.ts';

/** What becomes of a produce request on its way. */
type ProduceFate =
  | 'pass'
  /** It does not arrive, and nobody says so. */
  | 'swallow'
  /** It arrives, and the connection is cut instead of the answer. */
  | 'lose-answer'
  /** It does not arrive; the broker's error code is the answer. */
  | { readonly refuseWith: number };

export interface BrokerPath {
  readonly brokers: string[];
  /** Decides on each produce request; `pass` at first. */
  onProduce: (partitions: readonly ProducedPartition[]) => ProduceFate;
  /** Requests of these kinds do not arrive, and nobody says so. */
  readonly swallowed: Set<number>;
  /** The error code that a question for a group's coordinator is answered with; 0, as at first, is the broker's own. */
  coordinatorFault: () => number;
  /** Called when the answer to a produce request goes by. */
  onAnswer: () => void;
  /** How long it is held up before that. */
  answerMs: number;
  /** Connections are accepted, and nothing goes by any more: a broker that was stopped. What waited goes on after `goOn`. */
  fallSilent(): void;
  goOn(): void;
  close(): Promise<void>;
}

const PRODUCE = 0;
/** Metadata and FindCoordinator, whose answers tell clients where the broker is. */
const FIND_COORDINATOR = 10;
const TELLS_ADDRESS = new Set([3, FIND_COORDINATOR]);
/** Length, correlation id; then, since version 1, how long the client is to wait. */
const COORDINATOR_FAULT_AT = 12;

/** A way to one broker that does to produce requests what it is told to; whatever else goes by goes by. */
export async function startBrokerPath(broker: string): Promise<BrokerPath> {
  const [host = '', portText = ''] = broker.split(':');
  const port = Number(portText);
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((client) => {
    const upstream = connect(port, host);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    joinSockets({ client, upstream, host, port, own: (server.address() as AddressInfo).port, path });
    if (isSilent) for (const socket of [client, upstream]) socket.pause();
  });
  const path: BrokerPath = {
    brokers: [],
    onProduce: () => 'pass',
    swallowed: new Set(),
    coordinatorFault: () => 0,
    onAnswer: () => undefined,
    answerMs: 0,
    fallSilent: () => {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    goOn: () => {
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
  server.listen(0, host);
  await once(server, 'listening');
  path.brokers.push(`${host}:${(server.address() as AddressInfo).port}`);
  return path;
}

interface Joint {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly host: string;
  readonly port: number;
  readonly own: number;
  readonly path: BrokerPath;
}

function joinSockets({ client, upstream, host, port, own, path }: Joint): void {
  const apiKeys = new Map<number, number>();
  const cutAt = new Set<number>();
  client.on(
    'data',
    frames((frame) => {
      const apiKey = frame.readInt16BE(4);
      const correlationId = frame.readInt32BE(8);
      apiKeys.set(correlationId, apiKey);
      const fate = apiKey === PRODUCE ? path.onProduce(producedPartitions(frame)) : 'pass';
      if (fate === 'swallow' || path.swallowed.has(apiKey)) return;
      if (typeof fate === 'object') return void client.write(refusal(frame, fate.refuseWith));
      if (fate === 'lose-answer') cutAt.add(correlationId);
      upstream.write(frame);
    }),
  );
  upstream.on(
    'data',
    frames((frame) => {
      const correlationId = frame.readInt32BE(4);
      if (cutAt.has(correlationId)) return void client.destroy();
      const apiKey = apiKeys.get(correlationId) ?? -1;
      apiKeys.delete(correlationId);
      const fault = apiKey === FIND_COORDINATOR ? path.coordinatorFault() : 0;
      if (fault !== 0) frame.writeInt16BE(fault, COORDINATOR_FAULT_AT);
      if (TELLS_ADDRESS.has(apiKey)) replaceAddress(frame, { host, port, own });
      if (apiKey !== PRODUCE) return void client.write(frame);
      setTimeout(() => {
        path.onAnswer();
        client.write(frame);
      }, path.answerMs);
    }),
  );
}

/** An address stands there as the host's text and then the port. */
function replaceAddress(frame: Buffer, { host, port, own }: { host: string; port: number; own: number }): void {
  const address = Buffer.alloc(host.length + 4);
  address.write(host);
  address.writeInt32BE(port, host.length);
  for (let at = frame.indexOf(address); at !== -1; at = frame.indexOf(address, at + 1))
    frame.writeInt32BE(own, at + host.length);
}
