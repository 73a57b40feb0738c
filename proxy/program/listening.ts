import { lookup } from 'node:dns/promises';
import { createServer, type Server } from 'node:net';

/** Where something listens, and what says so. */
export interface Place {
  /** An address or a name. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** What would have to say otherwise, as an operator knows it: an option, a configuration's field. */
  readonly hostSetting: string;
  readonly portSetting: string;
}

/** Nothing can listen there: one line that says where, why, and what to change. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  /** The place is none of this machine, so that another try is in vain. */
  readonly isWrongPlace: boolean;

  constructor(place: Place, cause: unknown) {
    super(whyNot(place, cause), { cause });
    this.isWrongPlace = WRONG_PLACE.has(codeOf(cause));
  }
}

/** Listens by whatever does. @throws ListenError */
export async function listenAt<T>(place: Place, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    throw new ListenError(place, error);
  }
}

/** @throws Error with `code`, as `listen` does */
export function listenWith(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/**
 * The one address of a name that is listened at, as Node itself chooses it. Given the name `localhost` Fastify opens a server more for each
 * further address of it, with none of the bounds and none of the answers that are set on the one it is known by.
 * @throws Error with `code`, as `listen` does
 */
export const addressOf = async (host: string): Promise<string> => (await lookup(host)).address;

/** Whether all can be listened at, together; leaves them free, and another may take one. @throws ListenError */
export async function proveListenable(places: readonly Place[]): Promise<void> {
  const probes: Server[] = [];
  try {
    for (const place of places) {
      const probe = createServer((socket) => socket.destroy());
      await listenAt(place, () => listenWith(probe, place.host, place.port));
      probes.push(probe);
    }
  } finally {
    for (const probe of probes) await new Promise((resolve) => probe.close(resolve));
  }
}

const WRONG_PLACE: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND']);

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause && typeof cause.code === 'string' ? cause.code : 'unknown';

function whyNot({ host, port, hostSetting, portSetting }: Place, cause: unknown): string {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = codeOf(cause);
  switch (code) {
    case 'EADDRINUSE':
      return `${where} is taken; choose another port with ${portSetting}`;
    case 'EADDRNOTAVAIL':
      return `${host} is no address of this machine; choose another with ${hostSetting}`;
    case 'ENOTFOUND':
      return `${host} is no address, and no name that is known; choose another with ${hostSetting}`;
    case 'EACCES':
      return `${where} may not be listened at by whoever runs this; choose another port with ${portSetting}`;
    default:
      return `nothing can listen at ${where} (${cause instanceof Error ? cause.message : code}); choose another with ${hostSetting} or ${portSetting}`;
  }
}
