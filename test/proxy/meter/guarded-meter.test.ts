import { describe, expect, it } from 'vitest';
import { AnswerMeter } from '../../../proxy/meter/answer-meter.ts';
import { GuardedMeter } from '../../../proxy/meter/guarded-meter.ts';
import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { messageStream } from './streams.ts';

const FAULT = new RangeError('too deep');
const PIECE = Buffer.from('x');

/** A meter that says that the answer is complete, and throws. */
const faulty = <M extends StreamMeter | AnswerMeter>(meter: M, at: 'push' | 'end', completesAt: number): M => {
  let calls = 0;
  const look = (name: 'push' | 'end') => (): void => {
    calls++;
    if (name === at) throw FAULT;
  };
  return {
    kind: meter.kind,
    usage: meter.usage,
    get complete() {
      return calls >= completesAt;
    },
    isFinal: true,
    errorEvent: null,
    messageId: 'msg_1',
    atBoundary: true,
    push: look('push'),
    end: look('end'),
  } as unknown as M;
};

describe('a meter that throws', () => {
  it.each(['push', 'end'] as const)('in %s is told of once, and asked no more', (at) => {
    const faults: unknown[] = [];
    const meter = new GuardedMeter(faulty(new StreamMeter(NO_SECRETS), at, 1), (error) => faults.push(error));
    for (let index = 0; index < 3; index++) meter[at](PIECE);
    expect(faults).toEqual([FAULT]);
    // What it says of itself after that is not believed.
    expect(meter).toMatchObject({ isFaulty: true, complete: false, isFinal: false, atBoundary: false });
    expect(meter.usage.malformed).toEqual(['meter']);
  });

  it('after the answer was complete leaves it complete', () => {
    const meter = new GuardedMeter(faulty(new AnswerMeter(null, NO_SECRETS), 'end', 1), () => undefined);
    meter.push(PIECE);
    meter.end();
    expect(meter).toMatchObject({ isFaulty: true, complete: true, messageId: 'msg_1', atBoundary: true });
  });
});

it('a meter that does not throw is passed on as it is', () => {
  const meter = new GuardedMeter(new StreamMeter(NO_SECRETS), () => expect.unreachable());
  meter.push(Buffer.from(messageStream([])));
  meter.end();
  expect(meter).toMatchObject({ isFaulty: false, complete: true, isFinal: true, errorEvent: null, atBoundary: true });
});
