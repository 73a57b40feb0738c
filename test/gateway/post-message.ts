import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { EventData } from '../../contracts/events.ts';
import type { TestGateway } from './start-gateway.ts';

export interface PostOptions {
  readonly model?: string;
  readonly stream?: boolean;
  readonly maxTokens?: number;
  readonly body?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly key?: string;
}

/** A POST /v1/messages over a connection of its own, with the answer's pieces as they come. */
export interface PostedMessage {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The next piece; null at the end. Rejects when the connection is cut. */
  next(): Promise<Buffer | null>;
  /** All that is left. Rejects when the connection is cut. */
  rest(): Promise<Buffer>;
  /** All that comes, and whether the answer ended by itself or the connection was cut. */
  restOrCut(): Promise<{ readonly body: Buffer; readonly isCut: boolean }>;
  /** The client goes away at once. */
  leave(): void;
}

export const messageBody = ({ model = 'opal-medium', stream = false, maxTokens = 1_000, body }: PostOptions): string =>
  JSON.stringify({ model, max_tokens: maxTokens, stream, messages: [{ role: 'user', content: 'hello' }], ...body });

/** Where to post, and with which key. */
export type PostTarget = Pick<TestGateway, 'url' | 'key'>;

/** Posts and resolves when the answer's head is there. */
export function postMessage(gateway: PostTarget, options: PostOptions = {}): Promise<PostedMessage> {
  return startPost(gateway, options).answered;
}

/** Posts and lets the caller leave before the head. */
export function startPost(gateway: PostTarget, options: PostOptions = {}) {
  const payload = messageBody(options);
  const headers = { 'x-api-key': options.key ?? gateway.key, 'content-type': 'application/json', ...options.headers };
  const request = httpRequest(`${gateway.url}/v1/messages`, { method: 'POST', agent: false, headers });
  const answered = new Promise<PostedMessage>((resolve, reject) => {
    request.on('response', (response) => resolve(posted(response)));
    request.on('error', reject);
  });
  request.end(payload);
  return { answered, leave: () => request.destroy() };
}

function posted(response: IncomingMessage): PostedMessage {
  const pieces = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const collect = async (): Promise<{ body: Buffer; isCut: boolean }> => {
    const read: Buffer[] = [];
    try {
      for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) read.push(piece.value);
      return { body: Buffer.concat(read), isCut: false };
    } catch {
      // The connection was cut: what had come until then is the answer's.
      return { body: Buffer.concat(read), isCut: true };
    }
  };
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next: async () => {
      const piece = await pieces.next();
      return piece.done === true ? null : piece.value;
    },
    rest: async () => {
      const { body, isCut } = await collect();
      if (isCut) throw new Error('the connection was cut');
      return body;
    },
    restOrCut: collect,
    leave: () => response.destroy(),
  };
}

interface Recorded {
  readonly usages: readonly EventData<'UsageRecorded'>[];
  readonly debits: readonly EventData<'CreditsDebited'>[];
}

/** What the ledger has of an account's requests, once all that has finished is settled. */
export async function recorded(gateway: TestGateway): Promise<Recorded> {
  const events = await gateway.events();
  return {
    usages: events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data] : [])),
    debits: events.flatMap((event) => (event.type === 'CreditsDebited' ? [event.data] : [])),
  };
}
