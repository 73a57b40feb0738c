import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Kafka, type LogEntry, logLevel } from 'kafkajs';
import type { Logger } from 'pino';
import type { KafkaConfiguration } from '../../contracts/kafka-configuration.ts';
import { answeringSeed, type OpenSocket } from './answering-seed.ts';
import { BearerTokens } from './bearer-tokens.ts';
import { mendKafkajs } from './kafkajs-internals.ts';
import { FEED_LIMITS } from './limits.ts';
import { saslOf } from './sasl.ts';
import { registerZstd } from './zstd-codec.ts';

/** Where the feed is: the section `kafka` of the configuration, as far as a reader needs it. */
export type FeedKafka = Pick<KafkaConfiguration, 'brokers' | 'topic' | 'ssl' | 'sasl' | 'unread'>;

export interface KafkaClientOptions {
  readonly kafka: FeedKafka;
  readonly clientId: string;
  /** What the driver says goes there as `debug`: what matters of it is told by whoever uses the client. */
  readonly logger?: Logger | undefined;
  readonly requestMs?: number;
}

/**
 * The driver's client, without its own retries: they lose messages where a partition's leader moves between two tries
 * (it asks only those brokers again that have not answered), and they would outlast every bound of ours.
 */
export function kafkaClient(options: KafkaClientOptions): KafkaClient {
  const { unread = [] } = options.kafka;
  if (unread.length > 0) throw new Error(`brokers are not to be reached so: ${unread.join('; ')}`);
  mendKafkajs();
  registerZstd();
  return new KafkaClient(options);
}

export class KafkaClient extends Kafka {
  readonly #sockets: ReadonlySet<Socket>;
  readonly #tokens: BearerTokens | null;

  constructor({ kafka, clientId, logger, requestMs = FEED_LIMITS.requestMs }: KafkaClientOptions) {
    const sockets = new Set<Socket>();
    const { brokers, ssl, sasl } = kafka;
    const tls = ssl === true ? {} : ssl || null;
    const tokens = sasl?.mechanism === 'oauthbearer' ? new BearerTokens(sasl.token) : null;
    const open: OpenSocket = (host, port, onConnect) => openSocketIn(sockets, { host, port, tls, onConnect });
    super({
      clientId,
      // Each admin, producer and consumer begins with the first of a list, and tries no other.
      brokers: async () => {
        // What keeps it from coming is told as that, and no connection waits for it.
        await tokens?.token();
        return [await answeringSeed({ brokers, ssl: tls !== null, open })];
      },
      ssl: tls ?? false,
      ...(sasl === null ? {} : { sasl: saslOf(sasl, tokens) }),
      reauthenticationThreshold: FEED_LIMITS.reauthenticateMs,
      connectionTimeout: FEED_LIMITS.connectMs,
      authenticationTimeout: FEED_LIMITS.connectMs,
      requestTimeout: requestMs,
      retry: { retries: 0 },
      socketFactory: ({ host, port, ssl: tls, onConnect }) => openSocketIn(sockets, { host, port, tls, onConnect }),
      logLevel: logger?.isLevelEnabled('debug') === true ? logLevel.INFO : logLevel.NOTHING,
      logCreator:
        () =>
        ({ namespace, log: { message, timestamp: _, ...details } }: LogEntry) =>
          logger?.debug({ kafka: namespace, ...details }, message),
    });
    this.#sockets = sockets;
    this.#tokens = tokens;
  }

  /** Cuts every connection: what waits for an answer fails now, not when its time is over. */
  cut(): void {
    this.#tokens?.cut();
    // Without an error the driver would not notice.
    for (const socket of this.#sockets) socket.destroy(new Error('the connection was given up'));
  }
}

interface Opening {
  readonly host: string;
  readonly port: number;
  /** Null or missing: not over TLS. */
  readonly tls?: ConnectionOptions | null;
  readonly onConnect: () => void;
}

function openSocketIn(sockets: Set<Socket>, { host, port, tls, onConnect }: Opening): Socket {
  const socket = tls
    ? connectTls({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), ...tls }, onConnect)
    : connect({ host, port }, onConnect);
  socket.setKeepAlive(true, FEED_LIMITS.keepAliveMs);
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  return socket;
}
