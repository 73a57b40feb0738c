import { existsSync } from 'node:fs';
import { get } from 'node:http';

const ANSWER_MS = 1_000;
const SOCKET = '/var/run/docker.sock';

/** Whether a Docker engine answers on its socket or on DOCKER_HOST, within a second. */
export async function isDockerThere(): Promise<boolean> {
  const host = process.env.DOCKER_HOST ?? `unix://${SOCKET}`;
  const socketPath = host.startsWith('unix://') ? host.slice('unix://'.length) : null;
  if (socketPath !== null && !existsSync(socketPath)) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const target =
    socketPath === null ? new URL('/_ping', host.replace(/^tcp:/, 'http:')) : { socketPath, path: '/_ping' };
  const request = get(target, (response) => {
    response.resume();
    resolve(response.statusCode === 200);
  });
  request.setTimeout(ANSWER_MS, () => request.destroy());
  request.on('error', () => resolve(false));
  request.on('close', () => resolve(false));
  return await promise;
}
