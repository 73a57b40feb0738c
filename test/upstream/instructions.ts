import { z } from 'zod';
import {
  type Answer,
  countTokens,
  delay,
  end,
  failure,
  head,
  json,
  reset,
  type Step,
  silence,
  write,
} from './answer.ts';
import { text } from './content.ts';
import { jsonOf } from './default-answer.ts';
import { message } from './message.ts';
import type { SeenRequest } from './seen-request.ts';
import { errorEvent, streamEvents } from './stream-events.ts';

const EVENTS_MAX = 100_000;
const PIECE_BYTES_MAX = 1_000_000;
const DELAY_MS_MAX = 600_000;
const BYTES_PER_TOKEN = 4;
const tokenCount = z.int().min(0);
const tokensSchema = z
  .strictObject({
    input: tokenCount,
    output: tokenCount,
    cacheRead: tokenCount,
    cacheWrite5m: tokenCount,
    cacheWrite1h: tokenCount,
  })
  .partial();

/** How to answer, in the request's own `metadata.script`: a load driver decides how each of its requests ends. */
const instructionsSchema = z.strictObject({
  /** Names the request in the record, in the Message's id (`msg_ID`) and in the header `request-id` (`req_ID`). */
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/)
    .optional(),
  tokens: tokensSchema.default({}),
  /** What a request costs there instead, where it comes with this beta in its `anthropic-beta`. */
  underBeta: z.strictObject({ beta: z.string(), tokens: tokensSchema }).optional(),
  /** What `usage.server_tool_use` says; without any the field is left out. */
  serverToolUse: z.record(z.string(), z.int().min(0)).default({}),
  /** Text deltas of a stream. */
  events: z.int().min(1).max(EVENTS_MAX).default(3),
  /** The text of each delta is filled up to so many bytes: an answer that no buffer holds. */
  pieceBytes: z.int().min(0).max(PIECE_BYTES_MAX).default(0),
  /** Before the answer of a JSON request; before each text delta of a stream. */
  delayMs: z.number().min(0).max(DELAY_MS_MAX).default(0),
  /**
   * `complete`; `reset`, `silent` and `error-event` half way through the text deltas; `reset-before-head` and
   * `silent-before-head`; `status-NNN`. A JSON answer has no middle and no events: it is reset or silent before its
   * head, and `error-event` is a status 529. Whole for all that, and of a stream only: `no-stop` lacks its message_stop,
   * `no-last-line` the blank line after it. `no-usage` is a JSON answer without usage.
   */
  ending: z
    .union([
      z.enum(['complete', 'no-stop', 'no-last-line', 'no-usage']),
      z.enum(['reset', 'silent', 'error-event', 'reset-before-head', 'silent-before-head']),
      z.templateLiteral(['status-', z.int().min(400).max(599)]),
    ])
    .default('complete'),
  /** What `usage.service_tier` says. */
  serviceTier: z.string().default('standard'),
});
type Instructions = z.infer<typeof instructionsSchema>;

const bodySchema = z.looseObject({
  model: z.string(),
  stream: z.boolean().nullish(),
  metadata: z.looseObject({ script: instructionsSchema.prefault({}) }).prefault({}),
});

interface Instructed {
  readonly id: string;
  readonly model: string;
  readonly isStream: boolean;
  /** Its `anthropic-beta`, name by name. */
  readonly betas: readonly string[];
  readonly bodyBytes: number;
  readonly instructions: Instructions;
}

/** What a request asks for; a text that says what is wrong with it otherwise. */
export function readInstructions({ body, headers, index }: SeenRequest): Instructed | string {
  const parsed = bodySchema.safeParse(jsonOf(body));
  if (!parsed.success) return z.prettifyError(parsed.error);
  const { model, stream, metadata } = parsed.data;
  return {
    id: metadata.script.id ?? `${process.pid}_${index}`,
    model,
    isStream: stream === true,
    betas: betasOf(headers['anthropic-beta']),
    bodyBytes: body.length,
    instructions: metadata.script,
  };
}

const betasOf = (header: string | string[] | undefined): string[] =>
  String(header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');

export function instructedAnswer(path: string, instructed: Instructed): Answer {
  const { id, instructions, isStream } = instructed;
  const { ending, tokens, delayMs } = instructions;
  const pause = delayMs > 0 ? [delay(delayMs)] : [];
  const headers = { 'request-id': `req_${id}` };
  // A count is of a request that may have lost its script on the way: then its size has to do.
  if (path.startsWith('/v1/messages/count_tokens'))
    return countTokens(tokens.input ?? Math.ceil(instructed.bodyBytes / BYTES_PER_TOKEN));
  if (ending.startsWith('status-')) return [...pause, ...failure(Number(ending.slice(7)), undefined, headers)];
  if (ending === 'reset-before-head') return [...pause, reset];
  if (ending === 'silent-before-head') return [silence];
  if (isStream) return streamOf(instructed, pause);
  if (ending === 'reset') return [...pause, reset];
  if (ending === 'silent') return [silence];
  if (ending === 'error-event') return [...pause, ...failure(529, undefined, headers)];
  const { usage, ...rest } = message(contentOf(instructed));
  return [...pause, ...json(ending === 'no-usage' ? rest : { ...rest, usage }, { headers })];
}

function streamOf(instructed: Instructed, pause: readonly Step[]): Answer {
  const { events, ending } = instructed.instructions;
  const steps: Step[] = [head(200, { 'content-type': 'text/event-stream', 'request-id': `req_${instructed.id}` })];
  const isWhole = WHOLE.has(ending);
  let deltas = 0;
  for (const bytes of streamEvents(contentOf(instructed))) {
    const isDelta = bytes.includes('event: content_block_delta');
    if (isDelta && !isWhole && deltas++ >= events / 2) return [...steps, ...brokenOff(ending)];
    const isStop = bytes.includes('event: message_stop');
    if (isStop && ending === 'no-stop') continue;
    const written = isStop && ending === 'no-last-line' ? bytes.subarray(0, -2) : bytes;
    steps.push(...(isDelta ? pause : []), write(written));
  }
  return isWhole ? [...steps, end] : [...steps, ...brokenOff(ending)];
}

const WHOLE = new Set(['complete', 'no-stop', 'no-last-line', 'no-usage']);

function brokenOff(ending: string): Step[] {
  if (ending === 'reset') return [reset];
  return ending === 'silent' ? [silence] : [write(errorEvent()), end];
}

const contentOf = ({ id, model, betas, instructions }: Instructed) => ({
  id: `msg_${id}`,
  model,
  tokens: withoutUndefined(tokensFor(betas, instructions)),
  serverToolUse: instructions.serverToolUse,
  serviceTier: instructions.serviceTier,
  blocks: [text(...pieces(instructions))],
});

const tokensFor = (betas: readonly string[], { tokens, underBeta }: Instructions): Instructions['tokens'] =>
  underBeta !== undefined && betas.includes(underBeta.beta) ? underBeta.tokens : tokens;

const pieces = ({ events, pieceBytes }: Instructions): string[] =>
  Array.from({ length: events }, (_, index) => `word ${index} `.padEnd(pieceBytes, 'x'));

/** An absent count is left to its default; one that is present but undefined would overwrite it. */
const withoutUndefined = (tokens: Instructions['tokens']): Record<string, number> =>
  Object.fromEntries(Object.entries(tokens).filter((entry): entry is [string, number] => entry[1] !== undefined));
