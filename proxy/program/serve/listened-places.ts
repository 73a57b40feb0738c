import type { Configuration } from '../../../contracts/configuration.ts';
import type { Place } from '../listening.ts';

export function listenedPlaces(configuration: Configuration): readonly Place[] {
  const metrics = metricsPlace(configuration);
  return [servedPlace(configuration), ...(metrics === null ? [] : [metrics])];
}

export const servedPlace = ({ listen: { host, port } }: Configuration): Place => ({
  host,
  port,
  hostSetting: '--host or listen.host',
  portSetting: '--port or listen.port',
});

/** Where GET /metrics is answered; null where that is not configured. */
export function metricsPlace({ metrics: { serve } }: Configuration): Place | null {
  if (serve === undefined) return null;
  return { ...serve, hostSetting: 'metrics.serve.host', portSetting: 'metrics.serve.port' };
}
