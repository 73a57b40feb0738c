import { z } from 'zod';
import { proveListenable } from '../listening.ts';
import { listenedPlaces, servedPlace } from '../serve/listened-places.ts';
import { type Examined, type Finding, type Found, fault, looked, ok, warn } from './finding.ts';

/** Of GET /readyz. */
const readySchema = z.looseObject({
  ok: z.boolean(),
  reason: z.string().optional(),
  degraded: z.string().optional(),
});

/** What the gateway at the configured place says of itself, where one has the data folder; where none runs, whether one could listen. */
export const lookAtGateway = ({ configuration, isServed, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'gateway',
    advice: isServed ? 'look at its log' : null,
    look: async (signal) => {
      if (isServed) return askReady(servedPlace(configuration), signal);
      const places = listenedPlaces(configuration);
      await proveListenable(places);
      return ok(`none runs on this folder; ${places.map(nameOf).join(' and ')} can be listened at`);
    },
  });

async function askReady(place: Place, signal: AbortSignal): Promise<Found> {
  const url = `http://${nameOf({ ...place, host: reached(place.host) })}/readyz`;
  let answer: unknown;
  try {
    answer = await (await fetch(url, { signal })).json();
  } catch (cause) {
    signal.throwIfAborted();
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    return warn(
      `one has this folder, and does not answer at ${url} (${why})`,
      'it may have been started with another --port',
    );
  }
  const ready = readySchema.safeParse(answer);
  if (!ready.success)
    return warn(`what answers at ${url} is no gateway`, 'the one on this folder may listen elsewhere');
  const { ok: isReady, reason = 'it says no reason', degraded } = ready.data;
  // Nothing that it answers says which folder it has.
  const asked = `the gateway at ${url} (the one on this folder, unless that was started with another --port)`;
  if (!isReady) return fault(`${asked} takes no requests: ${reason}`, 'look at its log');
  return degraded === undefined ? ok(`${asked} takes requests`) : warn(`${asked} runs degraded: ${degraded}`);
}

type Place = Pick<ReturnType<typeof servedPlace>, 'host' | 'port'>;

const nameOf = ({ host, port }: Place): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** What listens at every address is reached at this one. */
const reached = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host);
