import * as client from '@eventstore/db-client';
import { Metadata } from '@grpc/grpc-js';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { EventLogError } from '../../../../contracts/event-log.ts';
import { appendError, faultOf, readError } from '../../../../ledger/event-log/eventstoredb/fault.ts';

/** A gRPC error as grpc-js makes it. */
function raw(code: number, details = 'something', trailers: Record<string, string> = {}) {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  return Object.assign(new Error(`${code} X: ${details}`), { code, details, metadata });
}

const trailed = (exception: string, code = 9) => raw(code, exception, { exception });
const typed = (exception: string, code = 9) =>
  client.convertToCommandError(
    Object.assign(trailed(exception, code), {
      metadata: (() => {
        const { metadata } = trailed(exception, code);
        for (const name of ['leader-endpoint-host', 'stream-name', 'maximum-append-size']) metadata.set(name, '1');
        metadata.set('leader-endpoint-port', '1');
        metadata.set('required-metadata-properties', 'type');
        return metadata;
      })(),
    }),
  );

describe('the fault of a call that failed', () => {
  it.each([
    // What the server says in the trailer `exception`, and the client's typed error of it.
    ['not leader', trailed('not-leader', 5), 'unavailable', 'sound'],
    ['not leader, typed', typed('not-leader', 5), 'unavailable', 'sound'],
    ['access denied', trailed('access-denied', 7), 'unavailable', 'sound'],
    ['access denied, typed', typed('access-denied', 7), 'unavailable', 'sound'],
    ['stream deleted', trailed('stream-deleted'), 'invalid', 'sound'],
    ['stream deleted, typed', typed('stream-deleted'), 'invalid', 'sound'],
    ['too large', trailed('maximum-append-size-exceeded', 3), 'invalid', 'sound'],
    ['too large, typed', typed('maximum-append-size-exceeded', 3), 'invalid', 'sound'],
    ['property missing', trailed('missing-required-metadata-property', 3), 'invalid', 'sound'],
    ['property missing, typed', typed('missing-required-metadata-property', 3), 'invalid', 'sound'],
    ['unsupported, typed', new client.UnsupportedError('x', '1'), 'invalid', 'sound'],
    ['an exception of a newer server', trailed('quota-of-tomorrow', 9), 'ambiguous', 'poisoned'],
    // The client's typed errors by code alone.
    ['timeout, typed', client.convertToCommandError(raw(10)), 'ambiguous', 'sound'],
    ['deadline, typed', client.convertToCommandError(raw(4)), 'ambiguous', 'suspect'],
    ['unavailable, typed', client.convertToCommandError(raw(14)), 'ambiguous', 'sound'],
    ['cancelled, typed', client.convertToCommandError(raw(1)), 'ambiguous', 'sound'],
    ['unauthenticated, typed', client.convertToCommandError(raw(16)), 'unavailable', 'sound'],
    ['unknown, typed', client.convertToCommandError(raw(2)), 'ambiguous', 'poisoned'],
    // Raw gRPC errors.
    ['CANCELLED', raw(1), 'ambiguous', 'sound'],
    ['UNKNOWN', raw(2), 'ambiguous', 'poisoned'],
    ['UNKNOWN on connecting', raw(2, 'client error (Connect)'), 'unavailable', 'poisoned'],
    ['INVALID_ARGUMENT', raw(3), 'invalid', 'sound'],
    ['DEADLINE_EXCEEDED', raw(4), 'ambiguous', 'suspect'],
    ['DEADLINE_EXCEEDED before sending', raw(4, 'Waiting for LB pick'), 'unavailable', 'suspect'],
    ['NOT_FOUND', raw(5), 'ambiguous', 'sound'],
    ['PERMISSION_DENIED', raw(7), 'unavailable', 'sound'],
    ['RESOURCE_EXHAUSTED', raw(8), 'ambiguous', 'suspect'],
    ['FAILED_PRECONDITION', raw(9), 'ambiguous', 'poisoned'],
    ['ABORTED', raw(10, 'Operation timed out'), 'ambiguous', 'sound'],
    ['UNIMPLEMENTED', raw(12), 'unavailable', 'sound'],
    ['INTERNAL', raw(13), 'ambiguous', 'poisoned'],
    ['UNAVAILABLE', raw(14, 'read ECONNRESET'), 'ambiguous', 'sound'],
    ['UNAVAILABLE before a connection', raw(14, 'No connection established. Last error: …'), 'unavailable', 'sound'],
    ['UNAVAILABLE, busy', raw(14, 'Server Is Busy'), 'unavailable', 'sound'],
    ['UNAVAILABLE, not ready', raw(14, 'Server Is Not Ready'), 'unavailable', 'sound'],
    ['DATA_LOSS', raw(15), 'ambiguous', 'poisoned'],
    ['UNAUTHENTICATED', raw(16), 'unavailable', 'sound'],
    ['a code of tomorrow', raw(99), 'ambiguous', 'poisoned'],
    // Neither.
    ['a plain error', new Error('?'), 'ambiguous', 'poisoned'],
    ['no node found', new Error('Failed to discover after 10 attempts.'), 'unavailable', 'poisoned'],
    ['a channel dropped under the call', new Error('Channel has been shut down'), 'unavailable', 'sound'],
    ['a text', 'Impossible situation', 'ambiguous', 'poisoned'],
    ['nothing', undefined, 'ambiguous', 'poisoned'],
  ])('is known: %s', (_, error, kind, itsClient) => {
    expect(faultOf(error)).toMatchObject({ kind, client: itsClient });
    expect(appendError(error)).toMatchObject({ name: 'EventLogError', kind });
    expect(readError(error).kind).toBe(kind === 'ambiguous' ? 'unavailable' : kind);
  });

  it('says which errors are denials, and which name another leader', () => {
    expect([raw(7), trailed('access-denied')].map((error) => faultOf(error).isAccessDenied)).toEqual([true, true]);
    expect(faultOf(raw(16))).toMatchObject({ isAccessDenied: false, isUnknownUser: true });
    expect(appendError(raw(16)).message).toContain('the user or the password in the connection string is wrong');
    expect(faultOf(raw(14))).toMatchObject({ isAccessDenied: false, isUnknownUser: false, isNotLeader: false });
    expect(faultOf(typed('not-leader', 5)).isNotLeader).toBe(true);
  });

  it('is the error itself, where that is one of the port', () => {
    const error = new EventLogError('ambiguous', 'late');
    expect(appendError(error)).toBe(error);
  });

  it('keeps to one line of bounded length, without what grpc-js says behind it of how it looked for the address', () => {
    const { reason } = faultOf(raw(13, `one\ntwo ${'x'.repeat(10_000)}`));
    expect(reason).not.toContain('\n');
    expect(reason.length).toBeLessThanOrEqual(300);
    const told = 'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:2113.';
    expect(faultOf(raw(14, `${told} Resolution note: `))).toMatchObject({ kind: 'unavailable', reason: told });
    const noted = raw(14, `${told} Resolution note: `);
    const logged = pino.stdSerializers.err(readError(noted));
    expect([logged.message, logged.stack].join()).not.toContain('Resolution note');
    expect(logged.message).toBe(`EventStoreDB: ${told}: 14 X: ${told}`);
    expect(noted.stack).toContain('    at ');
  });
});
