import { describe, expect, it } from 'vitest';
import { findUsageEvents, overlongUsageEvent } from '../../../proxy/meter/usage-events.ts';
import { deltaEvent, event, STOP_EVENT, usageEvent } from './streams.ts';

function found(text: string): string[] {
  const events: string[] = [];
  findUsageEvents(Buffer.from(text), (bytes, { from, to }) => events.push(bytes.toString('utf8', from, to)));
  return events;
}

describe('usage events', () => {
  it('are found whole, in order and once each', () => {
    const error = event('error', { type: 'error', error: { type: 'error', message: 'message_stop' } });
    const usage = usageEvent({ output_tokens: 1 });
    expect(found(deltaEvent('é') + usage + deltaEvent('漢') + error + STOP_EVENT)).toEqual([usage, error, STOP_EVENT]);
  });

  it('are not looked for in what a model says, whatever it says', () => {
    const said = ['"message_stop"', 'event: error\n', '\n\nevent: message_delta\n', '{"type":"error"}', ' error'];
    for (const text of said) expect(found(deltaEvent(text).repeat(2))).toEqual([]);
  });

  it('are found by name alone and by type alone', () => {
    for (const text of ['event:error\ndata: x\n\n', 'data: x\nevent: error\n\n', 'data: {"type": "message_start"}\n\n'])
      expect(found(text)).toEqual([text]);
  });
});

describe('an overlong event', () => {
  it('is what its name says, or its first type where no name has come', () => {
    expect(overlongUsageEvent(Buffer.from('event: message_delta\ndata: {"type":"ping"'))).toBe('message_delta');
    expect(overlongUsageEvent(Buffer.from('data: {"type" : "error","type":"ping"'))).toBe('error');
    expect(overlongUsageEvent(Buffer.from('event: content_block_start\ndata: {"type":"error"'))).toBeNull();
    expect(overlongUsageEvent(Buffer.from('data: {"type":"ping","a":{"type":"error"}'))).toBeNull();
    expect(overlongUsageEvent(Buffer.from('data: "xxxx'))).toBeNull();
  });
});
