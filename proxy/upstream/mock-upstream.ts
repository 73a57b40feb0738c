import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '../../contracts/limits.ts';
import { EVENT_STREAM_TYPE } from '../../contracts/media-types.ts';
import type { Message } from '../../contracts/messages.ts';
import type { BodyAsker, BodyThreads } from '../request-body/body-threads.ts';
import { type MockAnswer, mockMessage, mockTokens } from '../request-body/mock-reply.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import { ABORTED, type Upstream, type UpstreamCall, type UpstreamHeaders, type UpstreamReceiver } from './upstream.ts';
import { NO_SECRETS } from './upstream-words.ts';

/** The built-in upstream: `svc-mock`, and every model of the example catalog. No network, no money. */
export class MockUpstream implements Upstream {
  readonly name = 'mock';
  readonly onClientDisconnect = 'drain';
  readonly countsTokens = true;
  readonly keepsThreads = false;
  readonly words = NO_SECRETS;
  readonly totalMs = LIMITS.requestTotalMs;

  readonly #threads: BodyThreads;

  constructor(threads: BodyThreads) {
    this.#threads = threads;
  }

  /** Nothing waits for it. */
  readonly waiting = 0;

  send({ path, body, owner }: UpstreamCall, receiver: UpstreamReceiver): () => void {
    let isLeft = false;
    if (path === '/v1/messages/count_tokens')
      play([json({ input_tokens: mockTokens(body.length) })], 'application/json', null, receiver);
    else if (body.isShort) answer(mockMessage(body.whole), receiver);
    else void this.#answerLong(body, { owner, isWanted: () => !isLeft }, receiver);
    return () => {
      isLeft = true;
    };
  }

  /** It reads the body as no other upstream does, so a long one is read by a thread: a copy, for the body may be sent again. */
  async #answerLong(body: RequestBytes, asker: BodyAsker, receiver: UpstreamReceiver): Promise<void> {
    try {
      const pieces = await copyOf(body);
      const { value } = await this.#threads.mockAnswer(pieces, asker);
      if (asker.isWanted()) answer(value, receiver);
    } catch (error) {
      if (!asker.isWanted()) return;
      receiver.onError({ kind: 'unreached', message: error instanceof Error ? error.message : String(error) });
    }
  }

  async close(): Promise<void> {
    // It holds nothing.
  }
}

/** A piece in each turn of the event loop, so that nobody waits for all of it. */
async function copyOf({ pieces }: RequestBytes): Promise<Buffer[]> {
  const copies: Buffer[] = [];
  for (const piece of pieces) {
    const copy = Buffer.allocUnsafeSlow(piece.length);
    piece.copy(copy);
    copies.push(copy);
    await nextTurn();
  }
  return copies;
}

function answer({ message, isStream }: MockAnswer, receiver: UpstreamReceiver): void {
  if (isStream) play(streamOf(message), EVENT_STREAM_TYPE, message.id, receiver);
  else play([json(message)], 'application/json', message.id, receiver);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Plays an answer piece by piece, each in a turn of its own, as a socket would give it. */
function play(pieces: readonly Buffer[], contentType: string, id: string | null, receiver: UpstreamReceiver): void {
  let next = -1;
  let isPaused = false;
  let isEnded = false;
  const step = (): void => {
    if (isPaused || isEnded) return;
    const piece = pieces[next++];
    if (next === 0) {
      const length = pieces.length === 1 ? (pieces[0]?.length ?? 0) : null;
      const headers: UpstreamHeaders = {
        contentType,
        contentLength: length,
        contentEncoding: null,
        requestId: id,
        retryAfterS: null,
      };
      receiver.onHead(200, headers);
    } else if (piece !== undefined) receiver.onData(piece);
    else {
      isEnded = true;
      receiver.onEnd();
      return;
    }
    setImmediate(step);
  };
  const resume = (): void => {
    if (!isPaused) return;
    isPaused = false;
    setImmediate(step);
  };
  const pause = (): void => {
    isPaused = true;
  };
  const abort = (): void => {
    if (isEnded) return;
    isEnded = true;
    setImmediate(() => receiver.onError(ABORTED));
  };
  setImmediate(() => {
    receiver.onStart({ pause, resume, abort });
    step();
  });
}

/** The message as a well-formed event stream: what every SDK needs to read it (names, block starts, cumulative usage). */
function streamOf(message: Message): Buffer[] {
  const { output_tokens: outputTokens, ...usage } = message.usage;
  const opening = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } };
  const delta = { stop_reason: message.stop_reason, stop_sequence: message.stop_sequence };
  return [
    event('message_start', { message: opening }),
    event('ping', {}),
    ...message.content.flatMap(blockEvents),
    event('message_delta', { delta, usage: { output_tokens: outputTokens } }),
    event('message_stop', {}),
  ];
}

function blockEvents(block: Message['content'][number], index: number): Buffer[] {
  const isText = block.type === 'text';
  const start = isText ? { type: 'text', text: '' } : { ...block, input: {} };
  const parts = isText ? String(block.text).split(/(?<= )/) : (JSON.stringify(block.input).match(/.{1,8}/gsu) ?? []);
  const deltas = parts.map((part) =>
    event('content_block_delta', {
      index,
      delta: isText ? { type: 'text_delta', text: part } : { type: 'input_json_delta', partial_json: part },
    }),
  );
  return [
    event('content_block_start', { index, content_block: start }),
    ...deltas,
    event('content_block_stop', { index }),
  ];
}

const event = (type: string, fields: object): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
