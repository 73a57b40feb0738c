/** A content block of an answer, with its content in the pieces in which a stream sends it. */
export type Block =
  | { readonly type: 'text'; readonly pieces: readonly string[] }
  | { readonly type: 'thinking'; readonly pieces: readonly string[]; readonly signature: string }
  /** The pieces are the input's JSON text, cut anywhere. */
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly pieces: readonly string[] };

export const text = (...pieces: string[]): Block => ({ type: 'text', pieces });
export const thinking = (...pieces: string[]): Block => ({ type: 'thinking', pieces, signature: 'c2lnbmF0dXJl' });
export const toolUse = (name: string, ...pieces: string[]): Block => ({
  type: 'tool_use',
  id: `toolu_${name}`,
  name,
  pieces,
});

/** Tokens of an answer by class, as the upstream counts them. */
export interface Tokens {
  readonly input?: number;
  readonly output?: number;
  readonly cacheRead?: number;
  readonly cacheWrite5m?: number;
  readonly cacheWrite1h?: number;
}

export interface AnswerContent {
  readonly id?: string;
  readonly model?: string;
  readonly blocks?: readonly Block[];
  readonly tokens?: Tokens;
  /** `end_turn`, or `tool_use` where the last block is one. */
  readonly stopReason?: string;
  /** What `usage.service_tier` says; null leaves it out. Providers send "standard" or "priority". */
  readonly serviceTier?: string | null;
  /** What `usage.server_tool_use` says at the end; without any the field is left out. */
  readonly serverToolUse?: Readonly<Record<string, number>>;
}

/** An answer with nothing left open. */
export interface FullContent {
  readonly id: string;
  readonly model: string;
  readonly blocks: readonly Block[];
  readonly tokens: Required<Tokens>;
  readonly stopReason: string;
  readonly serviceTier: string | null;
  readonly serverToolUse: Readonly<Record<string, number>>;
}

export function fullContent(content: AnswerContent): FullContent {
  const blocks = content.blocks ?? [text('Hello', ', ', 'world', '.')];
  return {
    id: content.id ?? 'msg_0123456789',
    model: content.model ?? 'opal-medium',
    blocks,
    tokens: { input: 25, output: 12, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, ...content.tokens },
    stopReason: content.stopReason ?? (blocks.at(-1)?.type === 'tool_use' ? 'tool_use' : 'end_turn'),
    serviceTier: content.serviceTier === undefined ? 'standard' : content.serviceTier,
    serverToolUse: content.serverToolUse ?? {},
  };
}

/** The usage that stands in a Message and in `message_start`: with the split of cache writes and the tier. */
export function fullUsage({ tokens, serviceTier }: FullContent, output: number): Record<string, unknown> {
  return {
    ...cumulativeUsage(tokens, output),
    cache_creation: {
      ephemeral_5m_input_tokens: tokens.cacheWrite5m,
      ephemeral_1h_input_tokens: tokens.cacheWrite1h,
    },
    ...(serviceTier === null ? {} : { service_tier: serviceTier }),
  };
}

/** The usage of `message_delta`: counters up to here, without the split. */
export function cumulativeUsage(tokens: Required<Tokens>, output: number): Record<string, unknown> {
  return {
    input_tokens: tokens.input,
    cache_creation_input_tokens: tokens.cacheWrite5m + tokens.cacheWrite1h,
    cache_read_input_tokens: tokens.cacheRead,
    output_tokens: output,
  };
}

/** What only the end of an answer says: how often the provider used tools of its own. */
export const finalUses = ({ serverToolUse }: FullContent): Record<string, unknown> =>
  Object.keys(serverToolUse).length === 0 ? {} : { server_tool_use: serverToolUse };
