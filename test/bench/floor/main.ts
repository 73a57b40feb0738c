import type { ServerResponse } from 'node:http';
import Fastify from 'fastify';
import { type Dispatcher, Pool } from 'undici';

class PassOn implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const response = this.#response;
    response.once('close', () => {
      if (!response.writableFinished) controller.abort(new Error('the client has left'));
    });
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const head = ['content-type', headers['content-type'], 'request-id', headers['request-id']] as string[];
    const length = headers['content-length'];
    if (typeof length === 'string') head.push('content-length', length);
    this.#response.writeHead(status, head);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#response.write(chunk)) return;
    controller.pause();
    this.#response.once('drain', () => controller.resume());
  }

  onResponseEnd(): void {
    this.#response.end();
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

/**
 * The floor: the least that a proxy on Fastify and undici can be. A route takes the body as it is, undici's `dispatch` sends
 * it on, and the answer's head, chunks and end go to the raw reply, with back-pressure; who leaves ends the call. It logs
 * nothing, checks nothing, counts nothing. Our cost is told as a multiple of its: it stays as it is.
 */
const [origin = ''] = process.argv.slice(2);
const pool = new Pool(origin);
const app = Fastify({ logger: false, bodyLimit: 32 * 1024 * 1024 });
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
app.post('/v1/messages', (request, reply) => {
  reply.hijack();
  const { 'content-type': type, 'x-api-key': key, 'anthropic-version': version } = request.headers;
  const headers = ['content-type', type, 'x-api-key', key, 'anthropic-version', version] as string[];
  const call = { path: '/v1/messages', method: 'POST', headers, body: request.body as Buffer } as const;
  pool.dispatch(call, new PassOn(reply.raw));
});
const url = await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${JSON.stringify({ url })}\n`);
