import { isObject } from './json-object.ts';
import { MEMBERS_OF_EDIT } from './nested-fields.ts';

/**
 * What can bring input into a request from outside its bytes, and what is known to bring none: the one table that the
 * worst case of a request is computed by. From the SDKs' request types (MessageCreateParams, AnthropicBeta's
 * fields), the provider's public documentation, and what agents were seen to send. What stands nowhere here, or among the
 * members of the objects that are known (nested-fields.ts), and not among the protocol's own is treated as the worst.
 *
 * Assumptions, which the provider's documentation gives and the gateway cannot check:
 * - a server tool makes the provider sample again, each time with the whole context as input; it does so ROUNDS_MAX times
 *   in one request and then answers `pause_turn`;
 * - input of each round is at most the context window; output of all rounds together is at most `max_tokens`, and
 *   thinking is part of it (no debit is beyond the credits so long as the upstream respects that);
 * - an image counts at most IMAGE_TOKENS_BOUND, wherever it comes from.
 *
 * What a continued thread, a field or a tool that nobody knows uses of what is billed by the use cannot be known before:
 * it is held at USES_MAX for each use that the model has a price for, and goes upstream. What its answer then reports
 * without a price is billed nothing and is an exception (`unpriced`). A server tool whose use is known by its type is
 * refused where the model has no price for it, whatever its version.
 */
export const ROUNDS_MAX = 10;
/** The most that one image is counted as, however few bytes it has. */
export const IMAGE_TOKENS_BOUND = 16_384;
/** Uses of one kind of tool in a request without `max_uses`: ten at a time in each round. */
export const USES_MAX = 100;

/** What a part of a request means for its input. */
export type Bearing =
  /** All that it brings is its bytes: a token has at least one. */
  | { readonly type: 'own_bytes' }
  /** Provider's instructions come with it. */
  | { readonly type: 'instructions'; readonly tokens: number }
  | { readonly type: 'image'; readonly isInside: boolean }
  /** More tokens than bytes, all of it in the request or fixed by it: at most the window, and a count knows. */
  | { readonly type: 'fills_window' }
  /** What it brings is not known before it is there: a count does not know it. */
  | {
      readonly type: 'outside';
      readonly rounds: number;
      readonly uses: Uses;
      /** What it is named for is known, and it may use anything else: a version that nobody knows. */
      readonly usesMore?: true;
    }
  /** No bound or no price is known. The words go to the client, after the path of the field. */
  | { readonly type: 'refused'; readonly why: string };

/** The most uses that are billed by the use, by their name in `usage.server_tool_use`; `any` where no name is known. */
type Uses = { readonly [name: string]: number } | 'any';

/** What a part brings from outside. */
export type Outside = Extract<Bearing, { readonly type: 'outside' }>;

const OWN_BYTES: Bearing = { type: 'own_bytes' };
const FILLS_WINDOW: Bearing = { type: 'fills_window' };
const outside = (rounds: number, uses: Uses = {}): Outside => ({ type: 'outside', rounds, uses });
const refused = (why: string): Bearing => ({ type: 'refused', why });
/** What nobody knows. */
export const WORST: Bearing = outside(ROUNDS_MAX, 'any');

/** Uses that the provider bills by their tokens alone. */
export const FREE_USES: ReadonlySet<string> = new Set(['web_fetch_requests', 'tool_search_requests']);
export const KNOWN_USES: ReadonlySet<string> = new Set([
  ...FREE_USES,
  'web_search_requests',
  'code_execution_requests',
]);

/** What of them is weighed where a client leaves early stands in proxy/request-body/input-weight.ts. */
export const FIELDS_OF_OWN_BYTES: ReadonlySet<string> = new Set([
  // The protocol's (interface, 1.2).
  'model',
  'max_tokens',
  'messages',
  'system',
  'stream',
  'temperature',
  'stop_sequences',
  'tools',
  'tool_choice',
  'speed',
  'metadata',
  // The SDKs' and agents'.
  'cache_control',
  'diagnostics',
  'output_config',
  'output_format',
  'service_tier',
  'thinking',
  'top_k',
  'top_p',
]);

type FieldRule = (value: unknown) => Bearing;

const OTHER_FIELDS: Readonly<Record<string, FieldRule>> = {
  // The history that the provider keeps, with the tools that it was begun with.
  thread: (value) => (typeOf(value) === 'create' ? OWN_BYTES : WORST),
  // Files and skills in it are read in rounds, by a tool that stands in `tools`.
  container: () => outside(ROUNDS_MAX),
  mcp_servers: (value) => (Array.isArray(value) && value.length === 0 ? OWN_BYTES : outside(ROUNDS_MAX)),
  context_management: bearingOfEdits,
  compaction: () => refused('a compaction is billed by tokens that the answer does not report'),
  inference_geo: (value) =>
    value === 'global' || value === 'not_available'
      ? OWN_BYTES
      : refused('expected "global": the catalog has no price for inference in one geography'),
  fallbacks: () => refused('another model would answer, at a price that is not known before'),
  fallback_credit_token: () => refused('the catalog has no price for what is bought with it'),
  billing_policy: (value) =>
    isObject(value) && (value.bill_to === undefined || value.bill_to === 'self')
      ? OWN_BYTES
      : refused('requests are billed to the account of the key alone'),
};

/** Fields of the request whose values are the client's own data: a provider looks for nothing in them. */
export const FIELDS_OF_DATA: ReadonlySet<string> = new Set(['metadata', 'output_config', 'output_format']);
/** A JSON schema, which is data, too, wherever it stands. */
export const SCHEMA_FIELD = 'input_schema';
/** Blocks whose `input` is what a model called a tool with: data. */
export const TOOL_USES: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);

/** A field of the request itself. Null is as good as absent. */
export function bearingOfField(name: string, value: unknown): Bearing {
  if (value === null || value === undefined || FIELDS_OF_OWN_BYTES.has(name)) return OWN_BYTES;
  return (Object.hasOwn(OTHER_FIELDS, name) ? OTHER_FIELDS[name]?.(value) : undefined) ?? WORST;
}

/** Fields that a message can have beside its content. */
export const MESSAGE_FIELDS: ReadonlySet<string> = new Set(['role', 'content', 'clear_at', 'output_config']);

/** Clearing takes input away; a compaction has rounds of its own, whose tokens the answer's usage leaves out. */
function bearingOfEdits(value: unknown): Bearing {
  const edits = isObject(value) ? (value.edits ?? []) : null;
  if (!Array.isArray(edits)) return WORST;
  const types = edits.map(typeOf);
  if (types.some((type) => /^compact_/.test(type)))
    return refused('a compaction is billed by tokens that the answer does not report');
  if (!types.every((type) => /^clear_(tool_uses|thinking)_\d{8}$/.test(type))) return WORST;
  return edits.every(isPlainEdit) ? OWN_BYTES : WORST;
}

const isPlainEdit = (edit: unknown): boolean =>
  isObject(edit) && Object.keys(edit).every((name) => Object.hasOwn(MEMBERS_OF_EDIT, name));

const BLOCKS_OF_OWN_BYTES = (
  'text tool_use tool_result thinking redacted_thinking search_result server_tool_use mcp_tool_use ' +
  'mcp_tool_result mcp_tool_listing tool_removal fallback browser_state code_execution_tool_result ' +
  'code_execution_tool_result_error code_execution_result code_execution_output bash_code_execution_tool_result ' +
  'bash_code_execution_tool_result_error bash_code_execution_result bash_code_execution_output ' +
  'text_editor_code_execution_tool_result text_editor_code_execution_tool_result_error ' +
  'text_editor_code_execution_view_result text_editor_code_execution_create_result ' +
  'text_editor_code_execution_str_replace_result web_search_tool_result web_search_tool_result_error ' +
  'web_fetch_tool_result web_fetch_tool_result_error web_fetch_result tool_search_tool_result ' +
  'tool_search_tool_result_error tool_search_tool_search_result'
).split(' ');

const BLOCKS: Readonly<Record<string, Bearing>> = {
  ...Object.fromEntries(BLOCKS_OF_OWN_BYTES.map((type) => [type, OWN_BYTES])),
  // Encrypted, and perhaps packed: what it becomes is not in its bytes.
  web_search_result: FILLS_WINDOW,
  encrypted_code_execution_result: FILLS_WINDOW,
  compaction: FILLS_WINDOW,
  // Stands for a definition elsewhere in the request, each time that it stands.
  tool_reference: FILLS_WINDOW,
  // Put into a container, from which it is read in rounds.
  container_upload: outside(ROUNDS_MAX),
  mcp_tool_reference: outside(ROUNDS_MAX),
  mcp_toolset_reference: outside(ROUNDS_MAX),
};

export const BLOCK_FIELDS: ReadonlySet<string> = new Set(
  (
    'type text citations cache_control source title context id name input caller toolset_name tool_use_id content ' +
    'is_error thinking signature data transformations server_name mcp_server_name tools tool from to trigger tabs ' +
    'state_changes url retrieved_at page_age encrypted_content encrypted_stdout error_code error_message stdout stderr ' +
    'return_code abandoned file_id file_type is_file_update lines num_lines start_line total_lines old_lines old_start ' +
    'new_lines new_start tool_references tool_name tool_changes'
  ).split(' '),
);

/** A content block by its kind; images and documents are told by their source. */
export function bearingOfBlock(type: unknown, source: unknown): Bearing {
  if (typeof type !== 'string') return WORST;
  if (type === 'image') return bearingOfImage(source);
  if (type === 'document') return bearingOfDocument(source);
  return (Object.hasOwn(BLOCKS, type) ? BLOCKS[type] : undefined) ?? WORST;
}

function bearingOfImage(source: unknown): Bearing {
  switch (typeOf(source)) {
    case 'base64':
      return { type: 'image', isInside: true };
    case 'url':
    case 'file':
      return { type: 'image', isInside: false };
    default:
      return WORST;
  }
}

function bearingOfDocument(source: unknown): Bearing {
  switch (typeOf(source)) {
    case 'text':
    case 'content':
      return OWN_BYTES;
    // Pages are counted as images too, and their text is packed.
    case 'base64':
      return FILLS_WINDOW;
    case 'url':
    case 'file':
      return outside(1);
    default:
      return WORST;
  }
}

/** Instructions that come with a tool of the provider's that the client runs; a few hundred are documented. */
const TOOL_INSTRUCTIONS: Bearing = { type: 'instructions', tokens: 2_048 };
const TOOLSET_INSTRUCTIONS: Bearing = { type: 'instructions', tokens: 16_384 };

export const TOOL_FIELDS: ReadonlySet<string> = new Set(
  (
    'type name description input_schema cache_control allowed_callers defer_loading eager_input_streaming ' +
    'input_examples strict max_uses allowed_domains blocked_domains user_location response_inclusion citations ' +
    'max_content_tokens url_sources use_cache display_width_px display_height_px display_number enable_zoom ' +
    'max_characters configs default_config mcp_server_name tools'
  ).split(' '),
);

/** A tool by its `type`; none and `custom` are the client's own. */
export function bearingOfTool(tool: { readonly [field: string]: unknown }): Bearing {
  const { type } = tool;
  if (type === undefined || type === null || type === 'custom') return OWN_BYTES;
  if (typeof type !== 'string') return WORST;
  if (/^(bash|text_editor|computer|memory)_\d{8}$/.test(type)) return TOOL_INSTRUCTIONS;
  if (/^(computer|browser)_toolset_\d{8}$/.test(type)) return TOOLSET_INSTRUCTIONS;
  const named = SERVER_TOOL.exec(type);
  if (named !== null) return bearingOfServerTool(tool, named[1] ?? '', named[2] ?? '');
  if (/^tool_search_tool_(regex|bm25)(_\d{8})?$/.test(type)) return outside(ROUNDS_MAX);
  if (type === 'mcp_toolset') return outside(ROUNDS_MAX);
  if (/^advisor_\d{8}$/.test(type))
    return refused('another model would be asked, whose tokens the answer does not report');
  return WORST;
}

const SERVER_TOOL = /^(web_search|web_fetch|code_execution)(_.*)?$/s;

/** Whatever the version: the name tells what it is billed by, so that it needs a price. */
function bearingOfServerTool(tool: { readonly [field: string]: unknown }, name: string, version: string): Bearing {
  const use = `${name}_requests`;
  // The provider knows no max_uses of code that it runs.
  const known = name === 'code_execution' ? outside(ROUNDS_MAX, { [use]: USES_MAX }) : usedInRounds(tool, use);
  return /^_\d{8}$/.test(version) ? known : { ...known, usesMore: true };
}

/** Later versions of these tools are called by code that the provider runs, in rounds of its own. */
const USED_DIRECTLY: ReadonlySet<unknown> = new Set(['web_search_20250305', 'web_fetch_20250910']);

/** `max_uses` bounds the rounds: one before the first use, one after each, one after a use past the bound (error). */
function usedInRounds(tool: { readonly [field: string]: unknown }, use: string): Outside {
  const { max_uses: most } = tool;
  const isBounded = typeof most === 'number' && Number.isSafeInteger(most) && most >= 1;
  const rounds = isBounded && USED_DIRECTLY.has(tool.type) ? Math.min(ROUNDS_MAX, most + 2) : ROUNDS_MAX;
  return outside(rounds, { [use]: isBounded ? most : USES_MAX });
}

/**
 * Fields that a count takes (the SDKs' MessageCountTokensParams), each of which changes it. An allow-list: a field that
 * only messages take would have the count refused.
 */
export const COUNTED_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'cache_control',
  'output_config',
  'output_format',
  'context_management',
  'mcp_servers',
]);

const typeOf = (value: unknown): string => (isObject(value) && typeof value.type === 'string' ? value.type : '');
