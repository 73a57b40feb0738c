import { isObject, type JsonObject } from '../../contracts/json-object.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { beginningOf, exceedsBounds, parseBeginning, parseJson } from '../upstream/bounded-json.ts';
import { REQUEST_ID_CHARS_MAX } from '../upstream/upstream.ts';
import type { UpstreamWords } from '../upstream/upstream-words.ts';
import { JoinedBytes } from './joined-bytes.ts';
import { ANSWER_PARSED_BYTES_MAX } from './limits.ts';
import { millitokensOfBlock } from './said-text.ts';
import { isReported, noteMalformed, nothingSeen, spelledJson, takeUsage } from './seen-usage.ts';
import { ShortMembers } from './short-members.ts';

/**
 * Looks at a JSON answer: keeps its bytes and reads them once, when all are there. Of one that is long, or has
 * more in it than is parsed in one go, the beginning is kept and the short members are read, of which its usage is one.
 */
export class AnswerMeter {
  readonly kind = 'answer';
  readonly usage = nothingSeen();
  readonly #contentLength: number | null;
  readonly #words: UpstreamWords;
  /** The whole body, or the beginning of a long one. */
  readonly #kept = new JoinedBytes();
  /** Of a long body; null of any other. */
  #members: ShortMembers | null = null;
  /** The body was read, or is too long for it. */
  #isDone = false;
  #isComplete = false;
  #messageId: string | null = null;

  /** @param contentLength as announced; null: `end` tells that it is whole @param words clean what is said */
  constructor(contentLength: number | null, words: UpstreamWords) {
    this.#contentLength = contentLength;
    this.#words = words;
    if (contentLength !== null && contentLength > LIMITS.answerBytesMax) this.#giveUp();
  }

  get complete(): boolean {
    return this.#isComplete;
  }

  /** The usage is the upstream's last word. */
  get isFinal(): boolean {
    return this.#isComplete && this.usage.outputTokens !== null;
  }

  /** As it may stand in the ledger. */
  get messageId(): string | null {
    return this.#messageId;
  }

  /** The first chunk may be kept, uncopied, until the body is whole: its memory must not be used again before. */
  push(chunk: Buffer): void {
    this.usage.bytes += chunk.length;
    if (this.#isDone || chunk.length === 0) return;
    if (this.usage.bytes > LIMITS.answerBytesMax) {
      this.#giveUp();
      return;
    }
    if (this.#members === null) this.#keep(chunk);
    else this.#members.push(chunk);
    if (this.#contentLength !== null && this.usage.bytes >= this.#contentLength) this.#read();
  }

  /** No more bytes come: a body without an announced length is whole now. */
  end(): void {
    this.#read();
  }

  #keep(chunk: Buffer): void {
    this.#kept.add(chunk);
    if (this.usage.bytes > ANSWER_PARSED_BYTES_MAX) this.#members = shortMembersOf(this.#kept.bytes);
  }

  /** A body that is too long to be kept stays unread. */
  #giveUp(): void {
    this.#isDone = true;
    this.#kept.clear();
    noteMalformed(this.usage, 'body');
  }

  /** A cut body (short of its length, or the beginning of an object) is read as far as it goes: not malformed. */
  #read(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    const body = this.#kept.bytes;
    const text = textOf(body);
    const members = this.#members ?? (exceedsBounds(text) ? shortMembersOf(body) : null);
    this.#kept.clear();
    this.#members = null;
    const whole = parseJson(members === null ? text : members.text);
    const value = whole === undefined ? parseBeginning(text) : whole;
    const isCut = this.#contentLength === null ? whole === undefined && isObject(value) : this.#isShort;
    if (!isCut && !isMessage(whole)) noteMalformed(this.usage, 'body');
    if (!isMessage(value)) return;
    // A client that was promised more takes it for broken, whatever there is of it.
    this.#isComplete = whole !== undefined && !this.#isShort;
    if (typeof value.id === 'string') this.#messageId = this.#words.clean(value.id, REQUEST_ID_CHARS_MAX);
    if (typeof value.model === 'string') this.usage.model = value.model;
    takeUsage(this.usage, value.usage, 'usage', this.#words, () => {
      const spelled = spelledJson(whole === undefined ? beginningOf(text) : (members?.text ?? text));
      return isObject(spelled) ? spelled.usage : undefined;
    });
    // Among the members that are too long to be read, where it is in none of the others.
    if (members !== null && this.#isComplete && value.usage === undefined) noteMalformed(this.usage, 'usage');
    if (this.#isComplete && isReported(this.usage)) return;
    const beginning = members === null ? value : parseBeginning(text);
    if (isObject(beginning)) this.usage.textMillitokens = millitokensOfBlocks(beginning.content);
  }

  get #isShort(): boolean {
    return this.#contentLength !== null && this.usage.bytes < this.#contentLength;
  }
}

/** What a Message's content is worth where its usage cannot be read. */
function millitokensOfBlocks(content: unknown): number {
  let sum = 0;
  for (const block of Array.isArray(content) ? content : []) if (isObject(block)) sum += millitokensOfBlock(block);
  return sum;
}

/** An object of type `message`; clients also take one without a type, and it costs as much. */
const isMessage = (value: unknown): value is JsonObject =>
  isObject(value) &&
  (value.type === 'message' || (value.type === undefined && (isObject(value.usage) || Array.isArray(value.content))));

/** UTF-8, up to what is parsed in one go, as text without its byte order mark. */
function textOf(body: Buffer): string {
  const text = body.toString('utf8', 0, Math.min(body.length, ANSWER_PARSED_BYTES_MAX));
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

function shortMembersOf(body: Buffer): ShortMembers {
  const members = new ShortMembers();
  members.push(body);
  return members;
}
