import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { CallingClient } from '../../proxy/calling-client.ts';
import { openSocket } from '../fixtures/gateway/raw-socket.ts';

/** As a request is answered by hand that has not come whole in time, and comes all the same. */
it('a client that was answered in place of its request has left, though its connection is there', async () => {
  const asked = Promise.withResolvers<boolean[]>();
  const server = createServer((_request, response) => {
    const client = new CallingClient(response);
    const before = client.hasLeft;
    response.req.socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n');
    asked.resolve([before, client.hasLeft, response.req.socket.destroyed]);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = await openSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  expect(await asked.promise).toEqual([false, true, false]);
  socket.destroy();
});
