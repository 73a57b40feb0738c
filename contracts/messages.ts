import { z } from 'zod';
import { text } from './bounded-length.ts';
import { problemOf } from './field-faults.ts';

/**
 * The Messages protocol as far as the gateway looks at it (interface, 1.2). Unknown fields and block kinds pass, and null
 * for an optional field is as good as its absence: the bytes are forwarded, not what is parsed here.
 */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish();
const anyObject = z.looseObject({});

/** So many faults of a request are told; one more says that there are more. */
export const FAULTS_SHOWN = 5;

/** An array, looked at until enough of it is wrong: `z.array` makes an issue of each entry, seconds for 100,000. */
function listOf<T extends z.ZodType>(entry: T) {
  return z.array(z.unknown()).transform((values, context) => {
    const read: z.output<T>[] = [];
    let faults = 0;
    for (const [index, value] of values.entries()) {
      const { data, error } = entry.safeParse(value, { reportInput: true });
      if (error === undefined) read.push(data as z.output<T>);
      for (const issue of error?.issues ?? []) {
        context.issues.push({ ...issue, path: [index, ...issue.path] } as z.core.$ZodRawIssue);
        if (++faults > FAULTS_SHOWN) return z.NEVER;
      }
    }
    return read;
  });
}

/** A content block: `text`, `image`, `tool_use`, `tool_result`, and whatever kind comes next. */
const block = z.looseObject({ type: z.string() });
const blocks = listOf(block);
const contentOrBlocks = z.union([z.string(), blocks], { error: 'expected a string or an array of block objects' });

const inputMessage = z.looseObject({
  /** The protocol's two; `system` is for models of the catalog that take it (interface, 1.5). */
  role: z.enum(['user', 'assistant', 'system']),
  content: contentOrBlocks,
});

const clientTool = z.looseObject({
  type: optional(z.literal('custom')),
  name: z.string(),
  description: optional(z.string()),
  input_schema: anyObject,
  cache_control: optional(anyObject),
});
/** A tool that the upstream itself runs is told by its `type` and has no input schema. */
const serverTool = z.looseObject({ type: z.string() });
export const isServerTool = (tool: unknown): boolean => {
  const type = tool !== null && typeof tool === 'object' && 'type' in tool ? tool.type : null;
  return typeof type === 'string' && type !== 'custom';
};
const tool = z.unknown().superRefine((value, context) => {
  const result = (isServerTool(value) ? serverTool : clientTool).safeParse(value, { reportInput: true });
  if (result.success) return;
  for (const issue of result.error.issues)
    context.addIssue({ code: 'custom', path: [...issue.path], message: problemOf(issue) });
});

const conversation = {
  model: text,
  messages: listOf(inputMessage),
  system: optional(contentOrBlocks),
  tools: optional(listOf(tool)),
};

export const messageRequestSchema = z.looseObject({
  ...conversation,
  max_tokens: z.int().min(1),
  stream: optional(z.boolean()),
  temperature: optional(z.number().min(0).max(1)),
  stop_sequences: optional(listOf(z.string())),
  tool_choice: optional(anyObject),
  speed: optional(z.enum(['standard', 'fast'])),
  metadata: optional(anyObject),
});
export type MessageRequest = z.infer<typeof messageRequestSchema>;

export const countTokensRequestSchema = z.looseObject(conversation);

const tokenCount = z.int().min(0);

const usageSchema = z.looseObject({
  input_tokens: tokenCount,
  output_tokens: tokenCount,
  cache_read_input_tokens: optional(tokenCount),
  cache_creation_input_tokens: optional(tokenCount),
  service_tier: optional(z.string()),
});

export const messageSchema = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: blocks,
  stop_reason: z.enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use']),
  stop_sequence: z.string().nullable(),
  usage: usageSchema,
});
export type Message = z.infer<typeof messageSchema>;

export const countTokensAnswerSchema = z.looseObject({ input_tokens: tokenCount });
