import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusal } from '../../../contracts/errors.ts';
import { requestId } from '../../../contracts/ids.ts';
import { ClientAnswer } from '../../../proxy/relay/client-answer.ts';

let server: Server;
let client: Socket;
let responses: ServerResponse[];
beforeEach(async () => {
  responses = [];
  server = createServer((_request, response) => {
    responses.push(response);
    server.emit('asked');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  client.destroy();
  server.closeAllConnections();
  server.close();
});

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

/** A client that asks some times on one connection and takes no byte. */
async function asked(times: number): Promise<ServerResponse[]> {
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  client.pause();
  client.write(REQUEST.repeat(times));
  while (responses.length < times) await once(server, 'asked');
  return responses;
}

const HEADERS = {
  contentType: 'text/plain',
  contentLength: null,
  contentEncoding: null,
  requestId: null,
  retryAfterS: null,
};
const answerTo = (response: ServerResponse, stallMs: number): ClientAnswer =>
  new ClientAnswer(response, requestId('req_1'), null, stallMs);

/** Small pieces, each in a turn of its own, until the network takes no more; what waits then is too little to hold a writer. */
async function fill(response: ServerResponse, answer: ClientAnswer): Promise<void> {
  answer.begin(HEADERS, true);
  do {
    answer.write(Buffer.alloc(8_192));
    await setImmediate();
  } while (response.writableLength === 0);
  expect(response.writableNeedDrain).toBe(false);
}

describe('the end of an answer', () => {
  it('that its client never takes cuts the connection after a time, however small what waits is', async () => {
    const [response] = await asked(1);
    if (response === undefined) throw new Error('nobody asked');
    const answer = answerTo(response, 50);
    await fill(response, answer);
    answer.end();
    await once(response, 'close');
    expect(response.writableFinished).toBe(false);
  });

  it('that is a refusal has the same time', async () => {
    const [response, second] = await asked(2);
    if (response === undefined || second === undefined) throw new Error('nobody asked');
    await fill(response, answerTo(response, 60_000));
    // Behind the first, which does not end.
    answerTo(second, 60_000).refuse(refusal('not_ready', 'x'));
    expect(second.listenerCount('timeout')).toBe(1);
  });

  it("leaves the connection's next answer its own time", async () => {
    const [response, second] = await asked(2);
    if (response === undefined || second === undefined) throw new Error('nobody asked');
    const answer = answerTo(response, 60_000);
    await fill(response, answer);
    const { socket } = response;
    answer.end();
    expect(socket?.timeout).toBe(60_000);
    client.resume();
    await once(response, 'finish');
    expect(second.socket).toBe(socket);
    expect(socket?.timeout).toBe(0);
    answerTo(second, 60_000).refuse(refusal('not_ready', 'x'));
    expect([second.writableLength, second.listenerCount('timeout')]).toEqual([0, 0]);
  });

  it('that is taken at once is not watched', async () => {
    const [response] = await asked(1);
    if (response === undefined) throw new Error('nobody asked');
    const answer = answerTo(response, 50);
    answer.begin(HEADERS, true);
    answer.write(Buffer.from('x'));
    answer.end();
    expect([response.writableLength, response.listenerCount('timeout')]).toEqual([0, 0]);
  });
});
