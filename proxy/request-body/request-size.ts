import type { MessageRequest } from '../../contracts/messages.ts';
import {
  ANY,
  MEMBERS_OF_BLOCK,
  MEMBERS_OF_MESSAGE,
  MEMBERS_OF_REQUEST,
  MEMBERS_OF_TOOL,
  type Members,
} from '../../contracts/nested-fields.ts';
import {
  type Bearing,
  BLOCK_FIELDS,
  bearingOfBlock,
  bearingOfField,
  bearingOfTool,
  MESSAGE_FIELDS,
  type Outside,
  ROUNDS_MAX,
  TOOL_FIELDS,
  USES_MAX,
  WORST,
} from '../../contracts/outside-input.ts';
import { type AskedCache, cacheAskedFor } from './asked-cache.ts';

/** What a request's size says about its input, before anybody has counted. */
export interface RequestSize {
  readonly bodyBytes: number;
  readonly images: number;
  /** Tokens of instructions that come with tools of the provider's own. */
  readonly instructionTokens: number;
  /** Its bytes say nothing about its input: each round may fill the window. */
  readonly fillsWindow: boolean;
  /** How often the provider may sample, each time with the whole context as input. */
  readonly rounds: number;
  /** Something brings input that a count of the request does not know: it must not lower what is held. */
  readonly isFedFromOutside: boolean;
  /** The field for which more is held than its bytes, or how it begins: of several the first that may bring the most. Null for none. */
  readonly behind: string | null;
  /** The most that it may use of what is billed by the use, each with the field that may use it. */
  readonly uses: readonly AskedUse[];
  /** It may use anything that is billed by the use. */
  readonly usesAnything: boolean;
  /** The longest cache that it may write; null is none. */
  readonly cache: AskedCache;
  /** Why it is refused, with the field; null where it is not. */
  readonly refused: string | null;
}

/** A field that nobody knows may have a name of any length, which is kept as long as the request is under way. */
const BEHIND_CHARS_MAX = 128;

export interface AskedUse {
  readonly name: string;
  readonly path: string;
  readonly most: number;
}

/**
 * What of a request decides how much input it can have and what that can cost (contracts/outside-input.ts). Nothing more
 * is looked for once it is refused; once it is the worst, only what can refuse it or has a price a use.
 */
export function requestSize(request: MessageRequest, body: Buffer): RequestSize {
  const size = new SizeOfRequest();
  for (const name in request) size.take(bearingOfField(name, request[name]), name);
  size.members(request, MEMBERS_OF_REQUEST);
  if (Array.isArray(request.system)) size.blocks(request.system, 'system');
  for (const [index, message] of request.messages.entries()) {
    if (size.refused !== null) break;
    size.knows(message, MESSAGE_FIELDS);
    size.members(message, MEMBERS_OF_MESSAGE);
    if (Array.isArray(message.content)) size.blocks(message.content, `messages.${index}.content`);
  }
  for (const [index, tool] of (request.tools ?? []).entries()) {
    if (size.refused !== null) break;
    size.tool(tool, `tools.${index}`);
  }
  // What a thread was begun with, its caches too, is the provider's to know. What is refused writes none.
  const cache = size.refused !== null || isContinued(request.thread) ? '1h' : cacheAskedFor(request, body);
  const { images, instructionTokens, fillsWindow, rounds, isFedFromOutside, behind, uses, usesAnything, refused } =
    size;
  const kept = behind === null ? null : behind.slice(0, BEHIND_CHARS_MAX);
  const brought = { images, instructionTokens, fillsWindow, rounds, isFedFromOutside, behind: kept };
  return { bodyBytes: body.length, ...brought, uses, usesAnything, refused, cache };
}

type Fields = { readonly [field: string]: unknown };

const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const isContinued = (thread: unknown): boolean => isFields(thread) && thread.type !== 'create';

/** Adds up what a request's parts mean. Recursion is bounded: a body's depth is (LIMITS.requestDepthMax). */
class SizeOfRequest {
  images = 0;
  instructionTokens = 0;
  fillsWindow = false;
  rounds = 1;
  isFedFromOutside = false;
  usesAnything = false;
  refused: string | null = null;
  behind: string | null = null;
  #roundsBehind = 0;
  /** One for each name, of which the table has few; the path is that of the first field. */
  readonly #uses = new Map<string, AskedUse>();

  get uses(): readonly AskedUse[] {
    return [...this.#uses.values()];
  }

  get #isWorst(): boolean {
    return this.usesAnything && this.isFedFromOutside && this.fillsWindow && this.rounds === ROUNDS_MAX;
  }

  take(bearing: Bearing, path: string): void {
    switch (bearing.type) {
      case 'own_bytes':
        return;
      case 'instructions':
        this.instructionTokens += bearing.tokens;
        return;
      case 'image':
        this.images++;
        if (!bearing.isInside) this.isFedFromOutside = true;
        return;
      case 'fills_window':
        this.fillsWindow = true;
        this.behind ??= path;
        return;
      case 'outside':
        this.#takeOutside(bearing, path);
        return;
      case 'refused':
        this.refused ??= `${path}: ${bearing.why}`;
        return;
      default:
        bearing satisfies never;
    }
  }

  knows(value: Fields, known: ReadonlySet<string>): void {
    for (const name in value) {
      if (this.#isWorst) return;
      if (!known.has(name)) this.take(WORST, name);
    }
  }

  /** What nobody knows in an object that is known is the worst. What stands in place of such an object has no members. */
  members(value: Fields, objects: Members): void {
    for (const name in objects) {
      const known = objects[name];
      const object = value[name];
      if (known === undefined || known === ANY || !isFields(object)) continue;
      for (const member in object) {
        if (this.#isWorst) return;
        if (!Object.hasOwn(known, member)) this.take(WORST, name);
      }
      this.members(object, known);
    }
  }

  blocks(blocks: readonly unknown[], path: string): void {
    for (let index = 0; index < blocks.length && this.refused === null; index++) {
      const block = blocks[index];
      if (isFields(block)) this.#block(block, path, index);
      else if (typeof block !== 'string') this.take(WORST, path);
    }
  }

  tool(tool: unknown, path: string): void {
    if (isFields(tool)) {
      this.knows(tool, TOOL_FIELDS);
      this.members(tool, MEMBERS_OF_TOOL);
    }
    this.take(isFields(tool) ? bearingOfTool(tool) : WORST, `${path}.type`);
  }

  #block(block: Fields, parent: string, index: number): void {
    const { type, content, source } = block;
    this.knows(block, BLOCK_FIELDS);
    this.members(block, MEMBERS_OF_BLOCK);
    if (type === 'tool_addition') this.#addedTool(block.tool, `${parent}.${index}.tool`);
    else if (!this.#isWorst) this.take(bearingOfBlock(type, source), parent);
    this.#inner(content, parent);
    if (isFields(source)) this.#inner(source.content, parent);
    this.#inner(block.tool_references, parent);
    this.#inner(block.tool_changes, parent);
  }

  #inner(content: unknown, path: string): void {
    if (Array.isArray(content)) this.blocks(content, path);
    else if (isFields(content)) this.#block(content, path, 0);
  }

  /** A tool that is added in the middle of a conversation is one like those of `tools`. */
  #addedTool(tool: unknown, path: string): void {
    if (isFields(tool) && tool.type === 'tool_definition') this.tool(tool.definition, `${path}.definition`);
    else this.take(isFields(tool) ? bearingOfBlock(tool.type, null) : WORST, path);
  }

  #takeOutside({ rounds, uses, usesMore }: Outside, path: string): void {
    this.isFedFromOutside = true;
    this.fillsWindow = true;
    if (rounds > this.#roundsBehind) {
      this.behind = path;
      this.#roundsBehind = rounds;
    }
    // Of several tools each has its own rounds after the first, to the provider's bound.
    this.rounds = Math.min(ROUNDS_MAX, this.rounds + rounds - 1);
    if (uses === 'any' || usesMore) this.usesAnything = true;
    if (uses !== 'any') for (const name in uses) this.#use(name, path, uses[name] ?? USES_MAX);
  }

  #use(name: string, path: string, most: number): void {
    const before = this.#uses.get(name);
    const sum = Math.min(Number.MAX_SAFE_INTEGER, (before?.most ?? 0) + most);
    this.#uses.set(name, { name, path: before?.path ?? path, most: sum });
  }
}
