import type { ContenderName } from './contenders/contender.ts';
import { type AnswerKind, BURST_EVENTS, PACED_EVENTS } from './fast-upstream/answers.ts';

export interface Workload {
  readonly title: string;
  readonly answer: AnswerKind;
  readonly connections: number;
  readonly eventsPerAnswer: number;
  readonly requestsPerS: number | null;
  /** What the CPU time is divided by. */
  readonly per: 'request' | 'event';
  /** Until when latency is told: the answer's last byte, or its body's first; null where it would say nothing. */
  readonly latency: 'answer' | 'firstByte' | null;
  /** Those it says nothing about are left out. */
  readonly without: readonly ContenderName[];
}

/** Requests a second of the ledger's workload: two events each, `UsageRecorded` and `CreditsDebited`. */
export const LEDGER_REQUESTS_PER_S = 2_500;
export const EVENTS_PER_BILLED_REQUEST = 2;

const common = { connections: 64, requestsPerS: null, eventsPerAnswer: 0, latency: 'answer', without: [] } as const;

export const WORKLOADS = {
  json: { ...common, title: 'JSON answer of 600 bytes, 64 connections', answer: 'json', per: 'request' },
  burst: {
    ...common,
    title: `stream of ${BURST_EVENTS} events in one burst, 64 connections`,
    answer: 'burst',
    eventsPerAnswer: BURST_EVENTS,
    latency: 'firstByte',
    per: 'event',
  },
  paced: {
    ...common,
    title: '100 paced streams, an event every 10 ms each',
    answer: 'paced',
    connections: 100,
    eventsPerAnswer: PACED_EVENTS,
    // The upstream's own pace decides when the first byte comes.
    latency: null,
    per: 'event',
  },
  'latency-json': {
    ...common,
    title: 'one connection, JSON: whole answer',
    answer: 'json',
    connections: 1,
    per: 'request',
  },
  'latency-stream': {
    ...common,
    title: 'one connection, stream: first byte of the body',
    answer: 'burst',
    connections: 1,
    eventsPerAnswer: BURST_EVENTS,
    latency: 'firstByte',
    per: 'request',
  },
  ledger: {
    ...common,
    title: `${LEDGER_REQUESTS_PER_S} billed requests a second: event-loop delay`,
    answer: 'json',
    requestsPerS: LEDGER_REQUESTS_PER_S,
    per: 'request',
    without: ['direct', 'nginx', 'floor', 'portkey'],
  },
} as const satisfies Record<string, Workload>;

export type WorkloadName = keyof typeof WORKLOADS;
