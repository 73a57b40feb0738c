import type { TokenCounts } from '../../contracts/usage.ts';

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
  /** Bytes of the answer that the meter has looked at. */
  bytes: number;
  /** Paths of what was said and cannot be usage; never silently taken for zero. */
  readonly malformed: string[];
}

export const nothingSeen = (): SeenUsage => ({
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheCreationTokens: null,
  cacheCreation5mTokens: null,
  cacheCreation1hTokens: null,
  serviceTier: null,
  bytes: 0,
  malformed: [],
});

/** Whether the answer has said what is always billed. */
export const isReported = (seen: SeenUsage): boolean =>
  seen.inputTokens !== null && seen.outputTokens !== null && seen.malformed.length === 0;

/** Takes over a `usage` object. It is cumulative: the last explicit value of each field wins, null and absent keep it. */
export function takeUsage(seen: SeenUsage, usage: unknown, path: string): void {
  if (usage === null || usage === undefined) return;
  if (!isObject(usage)) {
    seen.malformed.push(path);
    return;
  }
  const count = (value: unknown, before: number | null, name: string): number | null => {
    if (value === null || value === undefined) return before;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    seen.malformed.push(`${path}.${name}`);
    return before;
  };
  seen.inputTokens = count(usage.input_tokens, seen.inputTokens, 'input_tokens');
  seen.outputTokens = count(usage.output_tokens, seen.outputTokens, 'output_tokens');
  seen.cacheReadTokens = count(usage.cache_read_input_tokens, seen.cacheReadTokens, 'cache_read_input_tokens');
  const creation = 'cache_creation_input_tokens';
  seen.cacheCreationTokens = count(usage[creation], seen.cacheCreationTokens, creation);
  const split = usage.cache_creation;
  if (isObject(split)) {
    const in5m = split.ephemeral_5m_input_tokens;
    const in1h = split.ephemeral_1h_input_tokens;
    seen.cacheCreation5mTokens = count(in5m, seen.cacheCreation5mTokens, 'cache_creation.ephemeral_5m_input_tokens');
    seen.cacheCreation1hTokens = count(in1h, seen.cacheCreation1hTokens, 'cache_creation.ephemeral_1h_input_tokens');
  }
  if (typeof usage.service_tier === 'string') seen.serviceTier = usage.service_tier;
}

/**
 * Tokens by class. `input_tokens` excludes cache tokens in the Messages protocol. Cache writes are split by
 * `cache_creation`; what of the total is not in the split, or all of it without one, is 5-minute. Where the split is
 * more than the total, the split stands: it is the finer of the two statements.
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

export const isObject = (value: unknown): value is { readonly [field: string]: unknown } =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
