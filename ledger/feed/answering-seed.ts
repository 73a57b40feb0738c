import type { Socket } from 'node:net';
import { FEED_LIMITS } from './limits.ts';

/** Opens a connection; `onConnect` is called when it is there, TLS included. */
export type OpenSocket = (host: string, port: number, onConnect: () => void) => Socket;

interface SeedOptions {
  /** host:port */
  readonly brokers: readonly string[];
  readonly ssl: boolean;
  readonly open: OpenSocket;
}

/** No seed answers, and what each of them does instead. */
class SeedsAwayError extends Error {
  override readonly name = 'SeedsAwayError';
}

/**
 * One of the seeds that answers, the first to do so: all are asked at once what they can do, which a broker answers before
 * it knows who asks. The driver itself begins with the first of its list, goes on to the next only after a failed
 * connection, and takes one that accepts connections and says nothing for a good one.
 *
 * @throws SeedsAwayError within FEED_LIMITS.connectMs
 */
export async function answeringSeed({ brokers, ssl, open }: SeedOptions): Promise<string> {
  const sockets: Socket[] = [];
  try {
    return await Promise.any(
      brokers.map(async (broker) => {
        const [host = '', port = ''] = broker.split(':');
        const asking = new SeedQuestion(broker, ssl);
        sockets.push(asking.over((onConnect) => open(host, Number(port), onConnect)));
        await asking.answered;
        return broker;
      }),
    );
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    throw new SeedsAwayError(error.errors.map(({ message }: Error) => message).join('; '), { cause: error });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

const CORRELATION_ID = 0x5eed;
/** ApiVersions, version 0, from a client without a name; its length stands before it. */
const QUESTION = Buffer.from('0000000a001200000000' + '5eed' + 'ffff', 'hex');
/** An alert of TLS, which is how a listener with TLS may answer. */
const TLS_ALERT = 0x15;

class SeedQuestion {
  readonly #answered = Promise.withResolvers<void>();
  readonly #broker: string;
  readonly #ssl: boolean;
  #isConnected = false;
  #answer = Buffer.alloc(0);

  constructor(broker: string, ssl: boolean) {
    this.#broker = broker;
    this.#ssl = ssl;
  }

  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  over(open: (onConnect: () => void) => Socket): Socket {
    const socket = open(() => {
      this.#isConnected = true;
      socket.write(QUESTION);
    });
    const timer = setTimeout(() => this.#fail(this.#silence()), FEED_LIMITS.connectMs);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', ({ message }) =>
      this.#fail(this.#isConnected ? this.#closing(message) : this.#unreachable(message)),
    );
    socket.on('close', () => {
      clearTimeout(timer);
      this.#fail(this.#isConnected ? this.#closing('') : this.#unreachable('closed'));
    });
    return socket;
  }

  #take(chunk: Buffer): void {
    this.#answer = Buffer.concat([this.#answer, chunk]);
    if (this.#answer[0] === TLS_ALERT) this.#fail('expects TLS, and kafka.ssl is false');
    if (this.#answer.length < 8) return;
    if (this.#answer.readInt32BE(4) === CORRELATION_ID) this.#answered.resolve();
    else this.#fail('answers with what is none of Kafka’s protocol');
  }

  #silence(): string {
    const within = `within ${FEED_LIMITS.connectMs} ms`;
    return this.#isConnected ? `accepts connections and does not answer ${within}` : `takes no connection ${within}`;
  }

  #closing(message: string): string {
    // What the other side says in TLS stands within places in OpenSSL's sources.
    const said = /ssl\/tls alert ([a-z ]+)/.exec(message)?.[1];
    const how = message === '' ? '' : ` (${said === undefined ? message : `TLS alert ${said}`})`;
    return `closes connections without an answer${how}${this.#ssl ? '' : ': it may expect TLS, and kafka.ssl is false'}`;
  }

  /** What Node says of a refused connection names the address again; of a broker without TLS it says nothing of use. */
  #unreachable(message: string): string {
    const isPlain = this.#ssl && /wrong version|packet length|before secure TLS|ECONNRESET|closed/i.test(message);
    return `${message}${isPlain ? ': it may not speak TLS, and kafka.ssl is true' : ''}`;
  }

  #fail(reason: string): void {
    this.#answered.reject(new Error(`${this.#broker} ${reason}`));
  }
}
