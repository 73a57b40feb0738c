import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { machineUs, stampsIn } from '../stamps.ts';
import { ResponseReader } from './response-reader.ts';

export interface Answered {
  readonly events: number;
  readonly answerUs: number;
  readonly firstByteUs: number;
}

interface ConnectionOptions {
  readonly port: number;
  readonly request: Buffer;
  readonly countsEvents: boolean;
  onEvents(events: number): void;
  /** Told how long ago each event was sent; null where events do not say so. */
  readonly onDelay: ((us: number) => void) | null;
  onAnswer(connection: Connection, answered: Answered): void;
  onFailure(reason: string): void;
}

/** A connection of a client that sends one prepared request at a time. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  readonly #reader: ResponseReader;
  #sentAt = 0;
  #firstByteAt = 0;
  #isClosing = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#reader = new ResponseReader(options.countsEvents);
    this.#socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    this.#socket.on('error', (error) => this.#fail(error.message));
    this.#socket.on('close', () => this.#fail('the connection was closed'));
  }

  send(): void {
    this.#firstByteAt = 0;
    this.#sentAt = performance.now();
    this.#socket.write(this.#options.request);
  }

  close(): void {
    this.#isClosing = true;
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    if (this.#isClosing) return;
    const { onDelay } = this.#options;
    if (onDelay !== null) for (const sentUs of stampsIn(bytes)) onDelay(machineUs() - sentUs);
    const reader = this.#reader;
    const eventsBefore = reader.events;
    let isComplete: boolean;
    try {
      isComplete = reader.push(bytes);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
      return;
    }
    if (this.#firstByteAt === 0 && reader.hasBody) this.#firstByteAt = performance.now();
    if (reader.events > eventsBefore) this.#options.onEvents(reader.events - eventsBefore);
    if (!isComplete) return;
    const { events } = reader;
    reader.restart();
    const answerUs = (performance.now() - this.#sentAt) * 1000;
    this.#options.onAnswer(this, { events, answerUs, firstByteUs: (this.#firstByteAt - this.#sentAt) * 1000 });
  }

  #fail(reason: string): void {
    if (this.#isClosing) return;
    this.close();
    this.#options.onFailure(reason);
  }
}
