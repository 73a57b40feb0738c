import { isObject, type JsonObject } from '../../contracts/json-object.ts';
import { IMAGE_TOKENS_ESTIMATE_MAX, imageTokens } from '../tokens/image-tokens.ts';
import { millitokensOfJson } from '../tokens/json-tokens.ts';
import { LIGHTEST_UNIT, millitokensOf } from '../tokens/text-tokens.ts';

/** What a request's own bytes are worth as input. */
export interface InputWeight {
  readonly millitokens: number;
  /** `cache_control` stands where a provider looks for it. */
  readonly asksForCache: boolean;
}

/**
 * Weighs all text of a request, wherever it stands, but what is known to be none, with images by the provider's table.
 * What brings more than the request's own bytes (files, tools of the provider) counts as nothing, and so does what a
 * provider may leave out: thinking of earlier turns. No more text is weighed once the window is full.
 */
export function weighInput(request: JsonObject, contextWindow: number): InputWeight {
  const scale = new Scale(contextWindow * 1_000);
  for (const name in request)
    if (!BESIDE_THE_PROMPT.has(name)) scale.add(request[name], PLACES_ON_TOP[name] ?? 'nowhere');
  return {
    millitokens: scale.millitokens,
    asksForCache: scale.asksForCache || isObject(request.cache_control),
  };
}

/** Fields of the request of which a model reads nothing, or a word (known fields: contracts/outside-input.ts). */
const BESIDE_THE_PROMPT: ReadonlySet<string> = new Set(
  (
    'model max_tokens stream temperature stop_sequences tool_choice speed metadata cache_control diagnostics ' +
    'service_tier thinking top_k top_p container mcp_servers context_management inference_geo billing_policy'
  ).split(' '),
);

/** Whether a provider looks for a cache on a value itself, only further inside it, or not at all. */
type Place = 'block' | 'inside' | 'nowhere';
const PLACES_ON_TOP: Readonly<Record<string, Place>> = { system: 'block', messages: 'inside', tools: 'block' };
const PLACES: Readonly<Record<string, Place>> = {
  content: 'block',
  definition: 'block',
  tool_references: 'block',
  tool_changes: 'block',
  source: 'inside',
  tool: 'inside',
};

/** What the client wrote as JSON, and its model reads as such. */
const DATA: ReadonlySet<string> = new Set(['input', 'input_schema', 'input_examples', 'schema']);

/** Names, addresses and what is encoded or encrypted; a citation's text stands in its document. */
const NO_TEXT: ReadonlySet<string> = new Set(
  (
    'type role id tool_use_id file_id url media_type file_type signature encrypted_content encrypted_stdout ' +
    'encrypted_index cache_control citations caller error_code retrieved_at page_age effort allowed_callers ' +
    'previous_message_id clear_at ttl'
  ).split(' '),
);

/** A document of pages has one at the least (the provider names 1,500 to 3,000 tokens a page). */
const PAGES_TOKENS_MIN = 1_500;

/** Recursion is bounded: a body's depth is (LIMITS.requestDepthMax). */
class Scale {
  millitokens = 0;
  asksForCache = false;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(value: unknown, place: Place): void {
    if (typeof value === 'string') this.#text(value);
    else if (Array.isArray(value)) for (const inner of value) this.add(inner, place);
    else if (isObject(value)) this.#fields(value, place);
  }

  #fields(fields: JsonObject, place: Place): void {
    if (place === 'block' && isObject(fields.cache_control)) this.asksForCache = true;
    const { type, source } = fields;
    if (type === 'thinking' || type === 'redacted_thinking') return;
    if (type === 'image') {
      this.millitokens += 1_000 * tokensOfImage(source);
      return;
    }
    const hasPages = type === 'document' && isObject(source) && source.type !== 'text' && source.type !== 'content';
    if (hasPages) this.millitokens += 1_000 * PAGES_TOKENS_MIN;
    for (const name in fields) {
      if (NO_TEXT.has(name) || (name === 'source' && hasPages)) continue;
      // It is text in a source that says so, and else encoded.
      if (name === 'data' && type !== 'text') continue;
      if (DATA.has(name)) this.#data(fields[name]);
      else this.add(fields[name], place === 'nowhere' ? place : (PLACES[name] ?? 'nowhere'));
    }
  }

  #text(text: string): void {
    const unitsMax = Math.ceil(Math.max(0, this.#most - this.millitokens) / LIGHTEST_UNIT);
    this.millitokens += millitokensOf(text.length > unitsMax ? text.slice(0, unitsMax) : text);
  }

  #data(value: unknown): void {
    const left = this.#most - this.millitokens;
    if (left > 0) this.millitokens += millitokensOfJson(value, left);
  }
}

function tokensOfImage(source: unknown): number {
  if (!isObject(source) || source.type !== 'base64' || typeof source.data !== 'string')
    return IMAGE_TOKENS_ESTIMATE_MAX;
  return imageTokens(source.data);
}
