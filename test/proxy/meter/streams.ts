/** Builders of well-formed streams, as an upstream writes them. */

export const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

export const deltaEvent = (text: string): string =>
  event('content_block_delta', { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });

export const startEvent = (usage: unknown): string =>
  event('message_start', {
    type: 'message_start',
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'model-1', content: [], usage },
  });

export const usageEvent = (usage: unknown): string =>
  event('message_delta', { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage });

export const STOP_EVENT = event('message_stop', { type: 'message_stop' });

/** A whole stream around some delta events; reports 10 input and 20 output tokens. */
export const messageStream = (deltas: readonly string[]): string =>
  [
    startEvent({ input_tokens: 10, output_tokens: 1 }),
    event('content_block_start', { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    'event: ping\ndata: {"type": "ping"}\n\n',
    ...deltas,
    event('content_block_stop', { type: 'content_block_stop', index: 0 }),
    usageEvent({ output_tokens: 20 }),
    STOP_EVENT,
  ].join('');
