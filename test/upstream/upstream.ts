import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from './answer.ts';
import { defaultAnswer } from './default-answer.ts';
import { playAnswer } from './play-answer.ts';
import { type Recording, recordRequest, type SeenRequest } from './seen-request.ts';

/** An answer for every request, or a function that makes one for each. */
export type Script = Answer | ((request: SeenRequest) => Answer | Promise<Answer>);

interface UpstreamOptions {
  /** A well-formed answer with the request's model, where it is left out. */
  readonly script?: Script;
  /** 0, the default, takes any free one. */
  readonly port?: number;
}

export interface Upstream {
  /** Without a path: `http://127.0.0.1:PORT`. */
  readonly url: string;
  readonly port: number;
  /** Every request whose body was read, in order of arrival. */
  readonly requests: readonly SeenRequest[];
  /** Requests whose client left before their body's end; they are in no other record. */
  readonly cutRequests: number;
  /** Answers later requests so; those under way go on as they began. */
  answerWith(script: Script): void;
  /** Resolves with the request of that index as soon as it was read. Rejects when the upstream is closed before. */
  seen(index: number): Promise<SeenRequest>;
  /** Ends every connection; it may be closed already. @throws Error the first fault of a script, which no client could have told us. */
  close(): Promise<void>;
}

/** Starts an upstream that speaks the Messages protocol over HTTP on loopback and answers as it is told. */
export async function startUpstream(options: UpstreamOptions = {}): Promise<Upstream> {
  const upstream = new ScriptedUpstream(options.script ?? defaultAnswer);
  await upstream.listen(options.port ?? 0);
  return upstream;
}

class ScriptedUpstream implements Upstream {
  readonly requests: SeenRequest[] = [];
  cutRequests = 0;
  #script: Script;
  #arrivals = 0;
  readonly #faults: unknown[] = [];
  readonly #awaited = new Map<number, PromiseWithResolvers<SeenRequest>>();
  readonly #server = createServer({ keepAlive: true, noDelay: true }, (request, response) => {
    this.#serve(request, response).catch((error: unknown) => {
      this.#faults.push(error);
      response.destroy();
    });
  });

  constructor(script: Script) {
    this.#script = script;
    // An idle connection stays: a test that says nothing of it must not meet a keep-alive that ran out.
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
    this.#server.headersTimeout = 0;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  answerWith(script: Script): void {
    this.#script = script;
  }

  seen(index: number): Promise<SeenRequest> {
    const request = this.requests.find((candidate) => candidate.index === index);
    if (request !== undefined) return Promise.resolve(request);
    const awaited = this.#awaited.get(index) ?? Promise.withResolvers<SeenRequest>();
    this.#awaited.set(index, awaited);
    return awaited.promise;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
    for (const [index, { reject }] of this.#awaited)
      reject(new Error(`the upstream was closed before it saw request ${index}`));
    this.#awaited.clear();
    if (this.#faults.length > 0) throw this.#faults[0];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const script = this.#script;
    const recording = await this.#record(request, response);
    if (recording === null) return;
    const answer = typeof script === 'function' ? await script(recording.seen) : script;
    await playAnswer(answer, response, recording);
  }

  async #record(request: IncomingMessage, response: ServerResponse): Promise<Recording | null> {
    const index = this.#arrivals++;
    let recording: Recording;
    try {
      recording = await recordRequest(request, response, index);
    } catch (error) {
      if (request.complete) throw error;
      this.cutRequests++;
      return null;
    }
    this.requests.push(recording.seen);
    this.#awaited.get(index)?.resolve(recording.seen);
    this.#awaited.delete(index);
    return recording;
  }
}
