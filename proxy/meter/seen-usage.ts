import { useNameField } from '../../contracts/event-fields.ts';
import { isObject, type JsonObject, jsonWithNumbers } from '../../contracts/json-object.ts';
import type { TokenCounts } from '../../contracts/usage.ts';
import type { UpstreamWords } from '../upstream/upstream-words.ts';
import { MALFORMED_MAX, USE_NAMES_LOOKED_AT_MAX, USE_NAMES_MAX, WORD_CHARS_MAX } from './limits.ts';

/** What an answer has said about its usage so far. A field is null until it was said: absent is not zero. */
export interface SeenUsage {
  inputTokens: number | null;
  outputTokens: number | null;
  cacheReadTokens: number | null;
  /** All cache writes together. */
  cacheCreationTokens: number | null;
  cacheCreation5mTokens: number | null;
  cacheCreation1hTokens: number | null;
  serviceTier: string | null;
  /** Uses by their names in `server_tool_use`; null until one was said. */
  uses: Record<string, number> | null;
  /** A kind of `iterations` whose tokens the other fields leave out; null where there was none. */
  otherIteration: string | null;
  /** The model that the answer names. */
  model: string | null;
  /** Bytes of the answer that the meter has looked at. */
  bytes: number;
  /** What the answer's own text, thinking and tool input seen so far is worth (text-tokens.ts): for estimates alone. */
  textMillitokens: number;
  /** Paths of what was said and cannot be usage, each once, MALFORMED_MAX at most; never silently taken for zero. */
  readonly malformed: string[];
  /** The same with what was said, for an operator: `usage.output_tokens: 1e16 cannot be read`. */
  readonly unread: string[];
}

export const nothingSeen = (): SeenUsage => ({
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheCreationTokens: null,
  cacheCreation5mTokens: null,
  cacheCreation1hTokens: null,
  serviceTier: null,
  uses: null,
  otherIteration: null,
  model: null,
  bytes: 0,
  textMillitokens: 0,
  malformed: [],
  unread: [],
});

/** Whether the answer has said what is always billed. */
export const isReported = (seen: SeenUsage): boolean =>
  seen.inputTokens !== null && seen.outputTokens !== null && seen.malformed.length === 0;

/** Whether the answer has said anything of its usage so far: of its tokens, or of what is billed by the use. */
export const saysUsage = (seen: SeenUsage): boolean =>
  [seen.inputTokens, seen.outputTokens, seen.cacheReadTokens, seen.cacheCreationTokens].some((said) => said !== null) ||
  seen.cacheCreation5mTokens !== null ||
  seen.cacheCreation1hTokens !== null ||
  seen.uses !== null;

/**
 * Takes over a `usage` object. It is cumulative: the last explicit value of each field wins, null and absent keep it.
 *
 * @param words makes fit for the ledger what is said in words
 * @param spelled the same object as `spelledJson` reads it; asked for only where something in it is no number of tokens
 */
export function takeUsage(
  seen: SeenUsage,
  usage: unknown,
  path: string,
  words: UpstreamWords,
  spelled: (() => unknown) | null = null,
): void {
  const { length } = seen.malformed;
  takeFields(seen, usage, path, words);
  const asSpelled = seen.malformed.length > length ? spelled?.() : undefined;
  if (asSpelled === undefined) return;
  // Once more, which takes nothing else, for an operator gets to know what was said, and not what the parser makes of it.
  seen.malformed.length = length;
  seen.unread.length = length;
  takeFields(seen, asSpelled, path, words);
}

/** The value of a JSON text; in it a number that is none of tokens is how it is spelled. Undefined for what is no JSON. */
export const spelledJson = (text: string): unknown =>
  jsonWithNumbers(text, (value, spelling) => (isCount(value) ? value : new Spelling(spelling)));

/** A number as its text has it. */
class Spelling {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function takeFields(seen: SeenUsage, usage: unknown, path: string, words: UpstreamWords): void {
  const said = objectIn(seen, usage, path);
  if (said === null) return;
  seen.inputTokens = count(seen, said.input_tokens, `${path}.input_tokens`) ?? seen.inputTokens;
  seen.outputTokens = count(seen, said.output_tokens, `${path}.output_tokens`) ?? seen.outputTokens;
  const read = count(seen, said.cache_read_input_tokens, `${path}.cache_read_input_tokens`);
  seen.cacheReadTokens = read ?? seen.cacheReadTokens;
  const written = count(seen, said.cache_creation_input_tokens, `${path}.cache_creation_input_tokens`);
  seen.cacheCreationTokens = written ?? seen.cacheCreationTokens;
  takeSplit(seen, said.cache_creation, `${path}.cache_creation`);
  takeUses(seen, said.server_tool_use, `${path}.server_tool_use`, words);
  takeIterations(seen, said.iterations, words);
  if (typeof said.service_tier === 'string') seen.serviceTier = words.clean(said.service_tier, WORD_CHARS_MAX);
  else if (isSaid(said.service_tier)) noteMalformed(seen, `${path}.service_tier`, said.service_tier);
}

/**
 * Tokens by class. `input_tokens` excludes cache tokens in the Messages protocol. Cache writes are split by
 * `cache_creation`; what of the total is not in the split, or all of it without one, is 5-minute. Where the split is
 * more than the total, the split stands: prices hang on it, and it is the finer of the two statements (interface, 5.2).
 */
export function tokenCounts(seen: SeenUsage): TokenCounts {
  const in1h = seen.cacheCreation1hTokens ?? 0;
  const in5m = seen.cacheCreation5mTokens ?? 0;
  const unsplit = Math.max(0, (seen.cacheCreationTokens ?? 0) - in5m - in1h);
  return {
    input: seen.inputTokens ?? 0,
    output: seen.outputTokens ?? 0,
    cacheRead: seen.cacheReadTokens ?? 0,
    cacheWrite5m: in5m + unsplit,
    cacheWrite1h: in1h,
  };
}

/** Records the path of what cannot be usage, and what was said there, where that is known. */
export function noteMalformed({ malformed, unread }: SeenUsage, path: string, value?: unknown): void {
  if (malformed.length >= MALFORMED_MAX || malformed.includes(path)) return;
  malformed.push(path);
  unread.push(value === undefined ? `${path} cannot be read` : `${path}: ${shownValue(value)} cannot be read`);
}

const NUMBER_CHARS_MAX = 40;
const NUMBER_TEXT = new RegExp(`^[0-9eE+.-]{1,${NUMBER_CHARS_MAX}}$`);

function shownValue(value: unknown): string {
  // Digits are shown; any other text may be what a model said, which belongs into no log and no event.
  if (typeof value === 'string') return NUMBER_TEXT.test(value) ? JSON.stringify(value) : 'a text';
  if (value instanceof Spelling)
    return value.text.length > NUMBER_CHARS_MAX ? `${value.text.slice(0, NUMBER_CHARS_MAX)}…` : value.text;
  return typeof value === 'object' ? 'an object' : String(value);
}

/** The value as an object; null where it was not said, or, which is noted, is something else. */
export function objectIn(seen: SeenUsage, value: unknown, path: string): JsonObject | null {
  if (isObject(value) && !(value instanceof Spelling)) return value;
  if (isSaid(value)) noteMalformed(seen, path, value);
  return null;
}

function takeSplit(seen: SeenUsage, split: unknown, path: string): void {
  const said = objectIn(seen, split, path);
  if (said === null) return;
  const in5m = count(seen, said.ephemeral_5m_input_tokens, `${path}.ephemeral_5m_input_tokens`);
  const in1h = count(seen, said.ephemeral_1h_input_tokens, `${path}.ephemeral_1h_input_tokens`);
  seen.cacheCreation5mTokens = in5m ?? seen.cacheCreation5mTokens;
  seen.cacheCreation1hTokens = in1h ?? seen.cacheCreation1hTokens;
}

/** Uses of one kind are cumulative, too. What is no name of a use is one that no price covers, under a name like it. */
function takeUses(seen: SeenUsage, value: unknown, path: string, words: UpstreamWords): void {
  const said = objectIn(seen, value, path);
  if (said === null) return;
  const uses = seen.uses ?? {};
  /** Names that are none may come to one name: within one report their uses add up. */
  const inThis = new Set<string>();
  let looked = 0;
  for (const field in said) {
    if (++looked > USE_NAMES_LOOKED_AT_MAX) {
      noteMalformed(seen, path, said);
      break;
    }
    const times = count(seen, said[field], path);
    if (times === null) continue;
    const name = useNameOf(words.clean(field, WORD_CHARS_MAX + 1));
    if (uses[name] === undefined && Object.keys(uses).length >= USE_NAMES_MAX) {
      noteMalformed(seen, `${path}.${name}`, times);
      continue;
    }
    uses[name] = inThis.has(name) ? Math.min(Number.MAX_SAFE_INTEGER, (uses[name] ?? 0) + times) : times;
    inThis.add(name);
    seen.uses = uses;
  }
}

const useNameOf = (word: string): string =>
  useNameField.safeParse(word).data ?? `use_${word.toLowerCase().replace(/[^a-z0-9_]/g, '_')}`.slice(0, WORD_CHARS_MAX);

/** Tokens of a model's own rounds are in the usage beside; those of compactions and of other models are not. */
function takeIterations(seen: SeenUsage, iterations: unknown, words: UpstreamWords): void {
  if (!Array.isArray(iterations)) return;
  const other = iterations.findLast((one) => isObject(one) && typeof one.type === 'string' && one.type !== 'message');
  if (other !== undefined) seen.otherIteration = words.clean(String(other.type), WORD_CHARS_MAX);
}

/** A number of tokens; null where none was said, or, which is noted, what was said is no whole number of at least 0. */
function count(seen: SeenUsage, value: unknown, path: string): number | null {
  // Adding 0 makes the -0 that JSON can spell a plain 0.
  if (typeof value === 'number' && isCount(value)) return value + 0;
  if (isSaid(value)) noteMalformed(seen, path, value);
  return null;
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const isSaid = (value: unknown): boolean => value !== null && value !== undefined;
