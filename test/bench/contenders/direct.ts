import type { Contender } from './contender.ts';

/** No proxy: what the load and the upstream can do. The warm-ups of the others warm them as well. */
export const direct = (upstreamPort: number): Contender => ({
  name: 'direct',
  port: upstreamPort,
  headers: [{ 'x-api-key': 'bench' }],
  pids: [],
  needsWarmUp: false,
});
