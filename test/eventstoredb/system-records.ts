import { randomUUID } from 'node:crypto';
import type { LogRecord } from './log-file.ts';

const WRITTEN_AT_FIRST_START: readonly (readonly [stream: string, type: string, data: unknown])[] = [
  ['$$$scavenges', '$metadata', { $maxAge: 2_592_000 }],
  ['$$$stats-0.0.0.0:2113', '$metadata', { $maxAge: 86_400, $acl: { $r: '$ops' } }],
  ['$users', '$User', 'admin'],
  ['$user-admin', '$UserCreated', { loginName: 'admin', fullName: 'Event Store Administrator', groups: ['$admins'] }],
  ['$users', '$User', 'ops'],
  ['$user-ops', '$UserCreated', { loginName: 'ops', fullName: 'Event Store Operations', groups: ['$ops'] }],
];

/** What a server writes of its own accord when it first starts. */
export function systemRecords(createdMs: number): LogRecord[] {
  return WRITTEN_AT_FIRST_START.map(([stream, type, data]) => ({
    type: 'append',
    stream,
    createdMs,
    events: [
      {
        id: randomUUID(),
        type,
        contentType: 'application/json',
        data: Buffer.from(JSON.stringify(data)),
        metadata: new Uint8Array(),
      },
    ],
  }));
}
