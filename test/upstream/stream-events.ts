import {
  type AnswerContent,
  type Block,
  cumulativeUsage,
  type FullContent,
  finalUses,
  fullContent,
  fullUsage,
} from './content.ts';

type LineEnd = '\n' | '\r\n';

interface StreamForm {
  readonly lineEnd?: LineEnd;
  /** A ping after the first `content_block_start`, as providers send it. True where it is left out. */
  readonly ping?: boolean;
  /** A comment line before each event. */
  readonly comments?: boolean;
  /** An event of a kind that nobody knows, after each `content_block_start`. */
  readonly unknownEvents?: boolean;
}

/**
 * A well-formed stream as providers send it, one Buffer an event:
 *
 *   message_start (input side of the usage)
 *   content_block_start, content_block_delta x pieces, content_block_stop      for each block
 *   message_delta (stop reason, cumulative usage)
 *   message_stop
 */
export function streamEvents(content: AnswerContent = {}, form: StreamForm = {}): Buffer[] {
  const full = fullContent(content);
  const { lineEnd = '\n', ping = true, comments = false, unknownEvents = false } = form;
  const events: EventData[] = [messageStart(full)];
  for (const [index, block] of full.blocks.entries()) {
    events.push({ type: 'content_block_start', index, content_block: emptyBlock(block) });
    if (ping && index === 0) events.push({ type: 'ping' });
    if (unknownEvents) events.push({ type: 'block_annotation', index, note: { usage: { output_tokens: 999_999 } } });
    events.push(...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })));
    events.push({ type: 'content_block_stop', index });
  }
  events.push(messageDelta(full), { type: 'message_stop' });
  const prefix = comments ? comment('keep-alive', lineEnd) : Buffer.alloc(0);
  return events.map((data) => Buffer.concat([prefix, event(data.type, data, lineEnd)]));
}

/** One event: its name, its data, and the blank line that ends it. */
export function event(name: string, data: unknown, lineEnd: LineEnd = '\n'): Buffer {
  return Buffer.from(`event: ${name}${lineEnd}data: ${JSON.stringify(data)}${lineEnd}${lineEnd}`);
}

export const comment = (text: string, lineEnd: LineEnd = '\n'): Buffer => Buffer.from(`: ${text}${lineEnd}`);

/** The protocol's event for a failure in the middle of a stream. */
export function errorEvent(type = 'overloaded_error', message = 'Overloaded', lineEnd: LineEnd = '\n'): Buffer {
  return event('error', { type: 'error', error: { type, message } }, lineEnd);
}

interface EventData {
  readonly type: string;
  readonly [field: string]: unknown;
}

function messageStart(full: FullContent): EventData {
  const message = {
    id: full.id,
    type: 'message',
    role: 'assistant',
    model: full.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    // Providers count a first token here; the end's count is cumulative and stands above it.
    usage: fullUsage(full, Math.min(1, full.tokens.output)),
  };
  return { type: 'message_start', message };
}

function messageDelta(full: FullContent): EventData {
  const { stopReason, tokens } = full;
  const delta = { stop_reason: stopReason, stop_sequence: null };
  return { type: 'message_delta', delta, usage: { ...cumulativeUsage(tokens, tokens.output), ...finalUses(full) } };
}

function emptyBlock(block: Block): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
    default:
      return block satisfies never;
  }
}

function deltasOf(block: Block): Record<string, unknown>[] {
  switch (block.type) {
    case 'text':
      return block.pieces.map((piece) => ({ type: 'text_delta', text: piece }));
    case 'thinking':
      return [
        ...block.pieces.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'tool_use':
      return block.pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
    default:
      return block satisfies never;
  }
}
