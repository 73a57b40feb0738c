import type { Ours } from './contenders/ours.ts';
import type { Load } from './load/load-protocol.ts';
import { requestBody, requestText } from './request-body.ts';

/** What a paying client sends: far below what the gateway can do alone. */
export const payingLoad = ({ port, headers }: Ours): Load => ({
  port,
  requests: headers.map((one) => requestText({ port, headers: one }, requestBody('json', 'small'))),
  connections: 16,
  eventsPerAnswer: 0,
  countsEventsAsTheyCome: false,
  requestsPerS: 200,
});
