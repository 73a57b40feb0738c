import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Takes the same bodies, drops them and refuses: what they cost a client of another process on the same machine. */
const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => response.writeHead(400).end());
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.({ port: (server.address() as AddressInfo).port });
process.once('disconnect', () => process.exit(0));
