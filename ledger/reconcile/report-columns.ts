import type { TokenClass } from '../../contracts/usage.ts';

/** What tokens a report tells: `cacheWrite` where it does not say for how long. */
export type ReportClass = TokenClass | 'cacheWrite';
export const REPORT_CLASSES = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'cacheWrite'] as const;

/**
 * What the columns of providers' usage and cost reports mean, under the names that their exports and APIs have (in lower case,
 * `_` for spaces and hyphens, `.` between the names of nested objects). The first name of each is the one to use in a report
 * that is made by hand.
 */
export const COLUMNS = {
  /** As the answer named it: its `request-id`, or the message's own id. */
  requestId: ['request_id', 'message_id', 'generation_id', 'id'],
  /** An instant or a day in UTC (RFC 3339), or seconds since 1970; of a bucket its beginning. */
  time: [
    ...['date', 'day', 'usage_date_utc', 'usage_date', 'starting_at', 'start_time_iso', 'start_time'],
    ...['timestamp', 'created_at', 'time'],
  ],
  /** Of a bucket its end, exclusive. */
  end: ['ending_at', 'end_time_iso', 'end_time'],
  model: ['model', 'model_version', 'model_name', 'model_id', 'model_permaslug'],
  /** `priority` is the fast lane; what is none of ours stays what it is called. */
  tier: ['service_tier', 'tier', 'usage_type'],
  batch: ['batch'],
  /** Of a report with a row for each class. */
  tokenClass: ['token_type', 'token_class'],
  tokens: ['tokens', 'token_count', 'quantity', 'usage_quantity'],
  /** Without what was read from a cache or written to one. */
  input: ['uncached_input_tokens', 'input_uncached_tokens', 'usage_input_tokens_no_cache', 'input_tokens_no_cache'],
  /** With it, where `cachedInput` stands beside it; without, where `cacheRead` does. */
  someInput: ['input_tokens', 'prompt_tokens', 'tokens_prompt'],
  /** What of `someInput` was read from a cache. */
  cachedInput: ['input_cached_tokens', 'cached_tokens', 'tokens_cached', 'prompt_tokens_details.cached_tokens'],
  output: ['output_tokens', 'usage_output_tokens', 'completion_tokens', 'tokens_completion'],
  cacheRead: ['cache_read_input_tokens', 'cache_read_tokens', 'usage_input_tokens_cache_read'],
  cacheWrite5m: [
    ...['cache_write_5m_tokens', 'usage_input_tokens_cache_write_5m'],
    ...['cache_creation.ephemeral_5m_input_tokens', 'cache_creation_5m_input_tokens'],
  ],
  cacheWrite1h: [
    ...['cache_write_1h_tokens', 'usage_input_tokens_cache_write_1h'],
    ...['cache_creation.ephemeral_1h_input_tokens', 'cache_creation_1h_input_tokens'],
  ],
  /** Left alone where the two above are there. */
  cacheWrite: ['cache_write_tokens', 'cache_creation_input_tokens'],
  costUsd: ['cost_usd', 'amount_usd', 'cost', 'total_cost', 'cost_total', 'amount.value', 'amount_value'],
  /** Hundredths of a dollar, as a cost API has it. */
  costCents: ['amount'],
  /** What a row of costs is of; other than `tokens` is not compared. */
  costType: ['cost_type'],
  currency: ['currency', 'amount.currency', 'amount_currency'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type Meaning = keyof typeof COLUMNS;

/** Columns that real reports have and that say nothing of what is compared. */
export const IDLE_COLUMNS: ReadonlySet<string> = new Set(
  (
    'object workspace workspace_id workspace_name api_key api_key_id api_key_name project_id project_name user_id user_email ' +
    'organization_id organization_name app_name provider_name context_window inference_geo description line_item ' +
    'list_price_usd num_model_requests requests request_count total_tokens reasoning_tokens tokens_reasoning finish_reason ' +
    'streamed cancelled generation_time_ms time_to_first_token_ms server_tool_use.web_search_requests web_search_count ' +
    'input_text_tokens output_text_tokens input_cached_text_tokens input_audio_tokens output_audio_tokens ' +
    'input_cached_audio_tokens input_image_tokens output_image_tokens input_cached_image_tokens'
  ).split(' '),
);

/** Classes under the names that a column `tokenClass` has them. */
export const CLASS_NAMES: Readonly<Record<string, ReportClass>> = {
  input: 'input',
  input_tokens: 'input',
  uncached_input_tokens: 'input',
  input_no_cache: 'input',
  output: 'output',
  output_tokens: 'output',
  cache_read: 'cacheRead',
  input_cache_read: 'cacheRead',
  cache_read_input_tokens: 'cacheRead',
  cache_write_5m: 'cacheWrite5m',
  input_cache_write_5m: 'cacheWrite5m',
  'cache_creation.ephemeral_5m_input_tokens': 'cacheWrite5m',
  cache_write_1h: 'cacheWrite1h',
  input_cache_write_1h: 'cacheWrite1h',
  'cache_creation.ephemeral_1h_input_tokens': 'cacheWrite1h',
  cache_write: 'cacheWrite',
  cache_creation_input_tokens: 'cacheWrite',
};
