import { LIMITS } from '../../contracts/limits.ts';
import { countTokensAnswerSchema } from '../../contracts/messages.ts';
import { COUNTED_FIELDS } from '../../contracts/outside-input.ts';
import type { CallingClient } from '../calling-client.ts';
import type { TraceContext } from '../observation/trace-context.ts';
import type { BodyOwner } from '../request-body/body-owner.ts';
import { Crumbs } from '../request-body/crumbs.ts';
import { editTopLevel } from '../request-body/edit-top-level.ts';
import { SHORT_CHUNKS_MAX } from '../request-body/limits.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import type { CountFacts } from '../request-body/request-facts.ts';
import { parseJson } from './bounded-json.ts';
import {
  isEncoded,
  type UpstreamControl,
  type UpstreamError,
  type UpstreamHeaders,
  type UpstreamReceiver,
} from './upstream.ts';
import type { Deployment } from './upstream-directory.ts';

export interface CountRequest {
  readonly bytes: RequestBytes;
  readonly facts: CountFacts;
  readonly owner: BodyOwner;
  /** A count that nobody waits for any more ends. */
  readonly client: CallingClient;
  /** `anthropic-version` and `anthropic-beta` as the request itself goes upstream with them; null for none. */
  readonly version: string | null;
  readonly beta: string | null;
  readonly trace: TraceContext | null;
}

export type CountResult =
  | { readonly type: 'counted'; readonly inputTokens: number }
  | { readonly type: 'answered'; readonly status: number; readonly headers: UpstreamHeaders; readonly body: Buffer }
  | { readonly type: 'failed'; readonly error: UpstreamError };

const ANSWER_BYTES_MAX = 1024 * 1024;

/**
 * Asks a deployment how many input tokens a request has: the very request that goes there, with its headers and its
 * model's name, and of its fields those that a count takes. Bounded in time and size; never retried here.
 */
export function countUpstream({ upstream, model }: Deployment, count: CountRequest): Promise<CountResult> {
  const { bytes, facts, owner, client, version, beta, trace } = count;
  const set = model === facts.model ? {} : { model: JSON.stringify(model) };
  const body = bytes.changed(editTopLevel(facts.topLevel, { set, keepOnly: COUNTED_FIELDS }));
  return new Promise((resolve) => {
    if (client.hasLeft) {
      resolve(LEFT);
      return;
    }
    const receiver = new CountReceiver((result) => {
      forget();
      resolve(result);
    });
    const forget = client.onceLeft(() => receiver.abandon(LEFT.error));
    const call = { path: '/v1/messages/count_tokens', body, owner, version, beta, trace } as const;
    receiver.leavesQueueBy(upstream.send(call, receiver));
  });
}

const LEFT = {
  type: 'failed',
  error: { kind: 'aborted', message: 'the client has left' },
} as const satisfies CountResult;

class CountReceiver implements UpstreamReceiver {
  readonly #resolve: (result: CountResult) => void;
  readonly #timer: NodeJS.Timeout;
  /** None once the result stands. */
  #pieces: Buffer[] = [];
  readonly #crumbs = new Crumbs(SHORT_CHUNKS_MAX);
  #bytes = 0;
  #status = 0;
  #headers: UpstreamHeaders | null = null;
  #control: UpstreamControl | null = null;
  #leaveQueue: () => void = () => undefined;
  #isOver = false;

  constructor(resolve: (result: CountResult) => void) {
    this.#resolve = resolve;
    this.#timer = setTimeout(
      () => this.abandon({ kind: 'timeout', message: 'no count in time' }),
      LIMITS.countTokensMs,
    );
  }

  /** How it is taken back while it waits for a connection. */
  leavesQueueBy(leave: () => void): void {
    this.#leaveQueue = leave;
    if (this.#isOver) leave();
  }

  onStart(control: UpstreamControl): void {
    this.#control = control;
    // It had a turn, and waited for its connection.
    if (this.#isOver) control.abort();
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  onData(chunk: Buffer): void {
    this.#bound(chunk.length);
    if (!this.#isOver) this.#pieces.push(chunk);
  }

  /** Bounded as what it decodes to is, and with it. */
  onEncoded(bytes: number): void {
    this.#bound(bytes);
  }

  onEnd(): void {
    if (this.#isOver) return;
    const body = Buffer.concat(this.#pieces);
    this.#over();
    const inputTokens = this.#status === 200 ? readCount(body) : null;
    if (inputTokens !== null) this.#resolve({ type: 'counted', inputTokens });
    else if (this.#headers !== null && this.#status !== 200 && !isEncoded(this.#headers))
      this.#resolve({
        type: 'answered',
        status: this.#status,
        headers: this.#headers,
        body,
      });
    else this.#resolve({ type: 'failed', error: { kind: 'reset', message: 'the answer is not a count' } });
  }

  onError(error: UpstreamError): void {
    if (this.#isOver) return;
    this.#over();
    this.#resolve({ type: 'failed', error });
  }

  #bound(bytes: number): void {
    if (this.#isOver) return;
    this.#bytes += bytes;
    if (this.#bytes > ANSWER_BYTES_MAX) this.abandon({ kind: 'reset', message: 'the count is longer than 1 MiB' });
    else if (this.#crumbs.add(bytes)) this.abandon({ kind: 'reset', message: 'the count comes in crumbs' });
  }

  #over(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#pieces = [];
  }

  /** The first result stands: what the call says after that is not heard, and where it waits it is never sent. */
  abandon(error: UpstreamError): void {
    this.onError(error);
    this.#leaveQueue();
    this.#control?.abort();
  }
}

function readCount(body: Buffer): number | null {
  try {
    return countTokensAnswerSchema.parse(parseJson(body.toString('utf8'))).input_tokens;
  } catch {
    // Whatever it is, it is not a count; the caller says so.
    return null;
  }
}
