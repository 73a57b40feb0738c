import { expect, it } from 'vitest';
import { overlongUsageEvent } from '../../../proxy/meter/usage-events.ts';

it('an overlong event is what its name says, or its first type where no name has come', () => {
  expect(overlongUsageEvent(Buffer.from('event: message_delta\ndata: {"type":"ping"'))).toBe('message_delta');
  expect(overlongUsageEvent(Buffer.from('data: {"type" : "error","type":"ping"'))).toBe('error');
  expect(overlongUsageEvent(Buffer.from('event: content_block_start\ndata: {"type":"error"'))).toBeNull();
  expect(overlongUsageEvent(Buffer.from('data: {"type":"ping","a":{"type":"error"}'))).toBeNull();
  expect(overlongUsageEvent(Buffer.from('data: "xxxx'))).toBeNull();
});
