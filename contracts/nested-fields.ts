/**
 * Members of the objects in a request whose kind is known (outside-input.ts has the fields that they stand in): as in the
 * SDKs' request types and in what agents send, known to bring no input but their bytes. What a known object has beside
 * these is treated as the worst. What is the client's own data (a schema, metadata) has no members to know.
 */
export interface Members {
  readonly [name: string]: Members | typeof ANY;
}
/** Whatever it is, it is its bytes. */
export const ANY = 'any';

const EFFORT: Members = { effort: ANY };
const FORMAT: Members = { type: ANY, schema: ANY, name: ANY, strict: ANY };
const CACHE_CONTROL: Members = { type: ANY, ttl: ANY, scope: ANY };

export const MEMBERS_OF_REQUEST: Members = {
  cache_control: CACHE_CONTROL,
  context_management: { edits: ANY },
  diagnostics: { previous_message_id: ANY },
  output_config: { ...EFFORT, format: FORMAT, task_budget: { type: ANY, total: ANY, remaining: ANY } },
  output_format: FORMAT,
  thinking: { type: ANY, budget_tokens: ANY, display: ANY, block_binding: ANY },
  thread: { type: ANY, previous_message_id: ANY },
  tool_choice: { type: ANY, name: ANY, disable_parallel_tool_use: ANY },
};

/** Of an edit of the context that clears. */
export const MEMBERS_OF_EDIT: Members = {
  type: ANY,
  trigger: ANY,
  keep: ANY,
  clear_at_least: ANY,
  exclude_tools: ANY,
  clear_tool_inputs: ANY,
};

export const MEMBERS_OF_MESSAGE: Members = { output_config: EFFORT };

export const MEMBERS_OF_BLOCK: Members = {
  cache_control: CACHE_CONTROL,
  caller: { type: ANY, tool_id: ANY },
  /** Where they are a list, they are citations, which repeat what stands elsewhere. */
  citations: { enabled: ANY },
  source: { type: ANY, media_type: ANY, data: ANY, url: ANY, file_id: ANY, content: ANY },
};

export const MEMBERS_OF_TOOL: Members = {
  cache_control: CACHE_CONTROL,
  citations: { enabled: ANY },
  user_location: { type: ANY, city: ANY, region: ANY, country: ANY, timezone: ANY },
};

/** Fields, wherever they stand, whose values are the client's own data: a provider looks for nothing in them. */
export const DATA_FIELDS: ReadonlySet<string> = new Set([
  'metadata',
  'input',
  'input_schema',
  'input_examples',
  'schema',
]);

/**
 * Fields inside of a request that decide what is held for it, what it is refused for, or what its text weighs. A parser
 * upstream must not see other values of them than the gateway does.
 */
export const DECIDING_FIELDS: readonly string[] = (
  'type source content cache_control ttl max_uses speed tool definition tools tool_references tool_changes edits bill_to ' +
  'format effort budget_tokens url file_id data media_type text title context role name description input input_schema ' +
  'allowed_callers'
).split(' ');
