import { readFileSync } from 'node:fs';
import type { LoggedEvent, LoggedStream } from './logged-stream.ts';

type Line = readonly [stream: string, createdMs: number, events: readonly LineEvent[] | null];
type LineEvent = readonly [id: string, type: string, contentType: string, data: string, metadata: string];

/**
 * What the event store has written down, stream by stream: a line for each append, read by the auditor with its own
 * eyes. A last line without an end was never answered for. Positions count events.
 */
export function readEventFile(path: string): LoggedStream[] {
  const text = readFileSync(path, 'utf8');
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  const streams = new Map<string, LoggedEvent[]>();
  let position = 0;
  for (const line of lines) {
    if (line === '') continue;
    const [stream, createdMs, events] = JSON.parse(line) as Line;
    // The server's own, whose metadata may be empty: nothing of the ledger.
    if (stream.startsWith('$')) continue;
    const own = streams.get(stream) ?? [];
    streams.set(stream, own);
    for (const [id, type, , data, metadata] of events ?? [])
      own.push({
        revision: own.length,
        position: position++,
        createdMs,
        id,
        type,
        data: jsonIn(data),
        // The server's own events have none.
        ...(metadata === '' ? {} : { metadata: jsonIn(metadata) as { recordedAt: string } }),
      });
  }
  return [...streams].map(([stream, events]) => ({ stream, events }));
}

const jsonIn = (base64: string): unknown => JSON.parse(Buffer.from(base64, 'base64').toString('utf8'));
