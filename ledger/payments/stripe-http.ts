import { Agent, type AgentOptions, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import Stripe from 'stripe';

/** Many times what it answers at the most: a hundred objects with what they name. */
const ANSWER_BYTES_MAX = 8 * 2 ** 20;

/**
 * HTTP for Stripe's package, whose own has a bound for silence alone: here a request ends in `timeout` altogether, connecting
 * and the whole answer counted, and an answer has a bound of bytes. What waits for a connection does not count yet.
 */
export class StripeHttp extends Stripe.HttpClient {
  readonly #agent: Agent;
  readonly #request: typeof requestPlain;
  /** Ends each that has no answer yet, a connection or not: an agent that is destroyed opens others for those that wait. */
  readonly #enders = new Set<(error: Error) => void>();
  #isOver = false;

  constructor(protocol: 'http' | 'https', bounds: AgentOptions) {
    super();
    this.#agent = protocol === 'http' ? new Agent(bounds) : new TlsAgent(bounds);
    this.#request = protocol === 'http' ? requestPlain : requestTls;
  }

  /** What is under way fails, and nothing more is asked. */
  close(): void {
    this.#isOver = true;
    for (const end of this.#enders) end(new Error('the gateway ends'));
    this.#agent.destroy();
  }

  override getClientName(): string {
    return 'node';
  }

  override async makeRequest(
    ...[host, port, path, method, headers, data, _protocol, timeout]: Parameters<Stripe.HttpClient['makeRequest']>
  ): Promise<Stripe.HttpClientResponse> {
    if (this.#isOver) throw new Error('the gateway ends');
    const request = this.#request({ host, port, path, method, headers, agent: this.#agent });
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    let timer: NodeJS.Timeout | undefined;
    try {
      this.#enders.add(reject);
      request.once('socket', () => {
        timer = setTimeout(() => request.destroy(Stripe.HttpClient.makeTimeoutError()), timeout);
      });
      request.on('error', reject);
      request.once('response', (response) => readAnswer(response).then(resolve, reject));
      request.end(data);
      return new StripeResponse(await promise);
    } catch (error) {
      request.destroy();
      throw error;
    } finally {
      this.#enders.delete(reject);
      clearTimeout(timer);
    }
  }
}

interface Answer {
  readonly response: IncomingMessage;
  readonly text: string;
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`Stripe answers more than ${ANSWER_BYTES_MAX} bytes`);
    pieces.push(piece);
  }
  return { response, text: Buffer.concat(pieces).toString('utf8') };
}

/** Without the headers by which Stripe has its package say something, or do something, of its own accord. */
class StripeResponse extends Stripe.HttpClientResponse {
  readonly #answer: Answer;

  constructor(answer: Answer) {
    const { statusCode = 0, headers } = answer.response;
    const requestId = headers['request-id'];
    super(statusCode, typeof requestId === 'string' ? { 'request-id': requestId } : {});
    this.#answer = answer;
  }

  override getRawResponse(): IncomingMessage {
    return this.#answer.response;
  }

  /** An object, and an error in it, if any, one too: of anything else the package writes to it, and fails where nobody hears it. @throws Error */
  override async toJSON(): Promise<unknown> {
    const answer: unknown = this._parseResponseBody(this.#answer.text);
    const { error } = objectOf(answer);
    if (error !== undefined && error !== null) objectOf(error);
    return answer;
  }
}

function objectOf(value: unknown): { readonly error?: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new Error('Stripe answers what is no object');
}
