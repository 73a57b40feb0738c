import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requestId } from '../../../contracts/ids.ts';
import { ClientAnswer } from '../../../proxy/forwarding/client-answer.ts';

const ID = requestId(`req_${'0'.repeat(32)}`);
const STREAM = {
  contentType: 'text/event-stream',
  contentLength: null,
  contentEncoding: null,
  requestId: null,
  retryAfterS: null,
};
const JSON_OF_8 = { ...STREAM, contentType: 'application/json', contentLength: 8 };
const OF_LIMITS = ['anthropic-ratelimit-requests-limit', '50', 'anthropic-ratelimit-requests-remaining', '49'];

/** What a connection brings that has sent `requests`, until it is closed: the last of them asks for that. */
async function wireOf(
  answer: (client: ClientAnswer, response: ServerResponse) => void,
  requests: string,
): Promise<string> {
  const server = createServer((_request, response) => {
    answer(
      new ClientAnswer(response, ID, { deprecation: null, rateLimitHeaders: () => OF_LIMITS, observed: null }),
      response,
    );
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () => socket.write(requests));
  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece);
  return Buffer.concat(pieces).toString('latin1');
}

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const LAST_GET = 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
const bodyIn = (wire: string): string => wire.slice(wire.indexOf('\r\n\r\n') + 4);

describe('an answer on the wire', () => {
  it('has a chunk for each piece of a stream, short or long, none for an empty one, and the last at its end', async () => {
    const pieces = ['a', '', 'b'.repeat(1_024), 'c'.repeat(1_025), 'é'].map((text) => Buffer.from(text));
    const wire = await wireOf((client) => {
      client.begin(STREAM, true);
      for (const piece of pieces) client.write(piece);
      setImmediate(() => client.end());
    }, LAST_GET);
    const chunks = pieces
      .filter(({ length }) => length > 0)
      .map((piece) => `${piece.length.toString(16)}\r\n${piece.toString('latin1')}\r\n`);
    expect(wire.match(/transfer-encoding: chunked\r\n/gi)).toHaveLength(1);
    expect(bodyIn(wire)).toBe(`${chunks.join('')}0\r\n\r\n`);
  });

  it('has no chunks for a client of HTTP/1.0, which knows none: it ends with the connection', async () => {
    const wire = await wireOf((client) => {
      client.begin(STREAM, true);
      client.write(Buffer.from('event'));
      client.end();
    }, 'GET / HTTP/1.0\r\n\r\n');
    expect(wire).not.toMatch(/transfer-encoding/i);
    expect(bodyIn(wire)).toBe('event');
  });

  it('has an error event in a chunk of its own where it broke off, and no last one', async () => {
    const wire = await wireOf((client) => {
      client.begin(STREAM, true);
      client.cut('it broke off');
    }, LAST_GET);
    const [size = '', event = ''] = bodyIn(wire).split('\r\n');
    expect(event).toMatch(/^event: error\ndata: \{.*it broke off.*\}\n\n$/);
    expect(bodyIn(wire)).toBe(`${size}\r\n${event}\r\n`);
    expect(Number.parseInt(size, 16)).toBe(event.length);
  });

  it('ends with the last bytes of a length that is known, and the connection goes on', async () => {
    let hasEnded = false;
    const wire = await wireOf((client, response) => {
      client.begin(JSON_OF_8, false);
      client.write(Buffer.from('{"a":'));
      client.write(Buffer.from('12}'), true);
      hasEnded = response.writableEnded;
      client.end();
    }, GET + LAST_GET);
    expect(hasEnded).toBe(true);
    expect(wire.match(/\{"a":12\}/g)).toHaveLength(2);
    expect(wire.match(/^content-length: 8\r$/gm)).toHaveLength(2);
    expect(wire).not.toMatch(/transfer-encoding/i);
  });

  it('has the limits in its head, each once, beside what Node and a page of a browser add', async () => {
    const wire = await wireOf((client, response) => {
      response.setHeader('vary', 'Origin');
      client.begin(JSON_OF_8, false);
      client.write(Buffer.from('{"a":12}'), true);
      client.end();
    }, LAST_GET);
    const [head = ''] = wire.split('\r\n\r\n', 1);
    const names = head
      .split('\r\n')
      .slice(1)
      .map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
    expect(new Set(names).size).toBe(names.length);
    expect(names.toSorted()).toEqual(
      [
        ...OF_LIMITS.filter((_name, index) => index % 2 === 0),
        'connection',
        'content-length',
        'content-type',
        'date',
        'request-id',
        'vary',
      ].toSorted(),
    );
    expect(head).toContain('\r\nanthropic-ratelimit-requests-remaining: 49');
  });
});
