import { performance } from 'node:perf_hooks';
import { type Answered, Connection } from './connection.ts';
import { Latencies } from './latencies.ts';
import type { Load, Window } from './load-protocol.ts';

const TICK_MS = 2;

/** A load under way: connections that send again as soon as they are answered, or as often as the rate says. */
export class LoadRun {
  readonly #load: Load;
  readonly #connections: Connection[] = [];
  readonly #idle: Connection[] = [];
  readonly #answer = new Latencies();
  readonly #firstByte = new Latencies();
  readonly #delay = new Latencies();
  readonly #startedMs = performance.now();
  /** Of connections that are still to begin. */
  readonly #waiting: NodeJS.Timeout[] = [];
  #timer: NodeJS.Timeout | null = null;
  #sent = 0;
  #requests = 0;
  #events = 0;
  #markedMs = performance.now();

  constructor(load: Load, onFailure: (reason: string) => void) {
    this.#load = load;
    const requests = load.requests.map((request) => Buffer.from(request));
    const connect = (index: number): Connection => {
      const request = requests[index % requests.length];
      if (request === undefined) throw new Error('a load has at least one request');
      const connection = this.#connect(request, onFailure);
      this.#connections.push(connection);
      return connection;
    };
    const { connections, requestsPerS, spreadMs = 0 } = load;
    for (let index = 0; index < connections; index++)
      if (spreadMs > 0) this.#waiting.push(setTimeout(() => connect(index).send(), (index / connections) * spreadMs));
      else if (requestsPerS === null) connect(index).send();
      else this.#idle.push(connect(index));
    if (requestsPerS !== null) this.#keepPace(requestsPerS);
  }

  mark(): void {
    this.#requests = 0;
    this.#events = 0;
    this.#answer.clear();
    this.#firstByte.clear();
    this.#delay.clear();
    this.#markedMs = performance.now();
  }

  read(): Window {
    return {
      seconds: (performance.now() - this.#markedMs) / 1000,
      requests: this.#requests,
      events: this.#events,
      answer: this.#answer.summary(),
      firstByte: this.#firstByte.summary(),
      delay: this.#delay.summary(),
    };
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const waiting of this.#waiting) clearTimeout(waiting);
    for (const connection of this.#connections) connection.close();
  }

  #connect(request: Buffer, onFailure: (reason: string) => void): Connection {
    return new Connection({
      port: this.#load.port,
      request,
      countsEvents: this.#load.countsEventsAsTheyCome,
      onEvents: (events) => {
        this.#events += events;
      },
      onDelay: this.#load.readsStamps === true ? (us) => this.#delay.add(us) : null,
      onAnswer: (connection, answered) => this.#answered(connection, answered),
      onFailure,
    });
  }

  #answered(connection: Connection, { events, answerUs, firstByteUs }: Answered): void {
    this.#requests++;
    // What the transport cut in two was not seen as it came; the answer's end says how many there were.
    this.#events += this.#load.eventsPerAnswer - events;
    this.#answer.add(answerUs);
    this.#firstByte.add(firstByteUs);
    if (this.#timer === null) connection.send();
    else this.#idle.push(connection);
  }

  /** With every connection busy the rate is not held, and the window's count says so: nothing is queued. */
  #keepPace(requestsPerS: number): void {
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - this.#startedMs) / 1000) * requestsPerS);
      while (this.#sent < due) {
        this.#sent++;
        this.#idle.shift()?.send();
      }
    }, TICK_MS);
  }
}
