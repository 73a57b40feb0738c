import { LIMITS } from '../../contracts/limits.ts';
import { isObject, nothingSeen, type SeenUsage, takeUsage } from './seen-usage.ts';

/** Looks at a JSON answer: keeps its pieces as they are and reads them once, when all are there. */
export interface AnswerMeter {
  readonly kind: 'answer';
  readonly usage: SeenUsage;
  /** The whole body was seen and is a Message. */
  readonly complete: boolean;
  readonly messageId: string | null;
  push(chunk: Buffer): void;
  end(): void;
}

/** @param contentLength as announced; null where it is not, and only `end` tells that the body is whole */
export const createAnswerMeter = (contentLength: number | null): AnswerMeter => new KeepingAnswerMeter(contentLength);

class KeepingAnswerMeter implements AnswerMeter {
  readonly kind = 'answer';
  readonly usage = nothingSeen();
  readonly #contentLength: number | null;
  #pieces: Buffer[] = [];
  #isRead = false;
  #isComplete = false;
  #messageId: string | null = null;

  constructor(contentLength: number | null) {
    this.#contentLength = contentLength;
  }

  get complete(): boolean {
    return this.#isComplete;
  }

  get messageId(): string | null {
    return this.#messageId;
  }

  push(chunk: Buffer): void {
    if (this.#isRead) return;
    this.usage.bytes += chunk.length;
    if (this.usage.bytes > LIMITS.answerBytesMax) {
      this.#isRead = true;
      this.#pieces = [];
      this.usage.malformed.push(`an answer of more than ${LIMITS.answerBytesMax} bytes`);
      return;
    }
    this.#pieces.push(chunk);
    if (this.#contentLength !== null && this.usage.bytes >= this.#contentLength) this.#read();
  }

  end(): void {
    if (this.#contentLength === null || this.usage.bytes >= this.#contentLength) this.#read();
  }

  #read(): void {
    if (this.#isRead) return;
    this.#isRead = true;
    const message = parse(this.#pieces);
    this.#pieces = [];
    if (!isObject(message) || message.type !== 'message') return;
    this.#isComplete = true;
    if (typeof message.id === 'string') this.#messageId = message.id;
    takeUsage(this.usage, message.usage, 'usage');
  }
}

function parse(pieces: readonly Buffer[]): unknown {
  const [first] = pieces;
  const body = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // Not a Message: the caller sees that the answer is not complete.
    return null;
  }
}
