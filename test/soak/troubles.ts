/** What is done to a process while traffic goes on, and how often of all that is done. */
export type Troubles = readonly (readonly [kind: Trouble, weight: number])[];

/** A name alone is `kill -9`, and a start again; `paused` is SIGSTOP: connections stay, and nothing is answered. */
export type Trouble =
  | 'proxy'
  | 'paused proxy'
  /** Never started again, its journal gone with its machine. */
  | 'lost proxy'
  | 'relay'
  | 'paused relay'
  | 'event store'
  | 'paused event store'
  | 'broker'
  | 'paused broker'
  | 'full disk'
  | 'few descriptors';

/** What a soak does. */
export const ALL_TROUBLES: Troubles = [
  ['proxy', 6],
  ['relay', 3],
  ['event store', 2],
  ['lost proxy', 1],
  ['full disk', 2],
  ['few descriptors', 2],
  ['paused proxy', 1],
  ['paused relay', 1],
  ['paused event store', 1],
  ['broker', 1],
  ['paused broker', 1],
];

/** Storms: one thing that a gateway needs, and whoever uses it, killed and paused, and nothing else. */
export const STORMS = {
  kafka: {
    troubles: [
      ['broker', 3],
      ['paused broker', 3],
      ['relay', 2],
      ['paused relay', 2],
      ['proxy', 1],
    ],
    /** One of them can be lost: a topic with three replicas goes on with two. */
    brokers: 3,
  },
  eventstore: {
    troubles: [
      ['event store', 3],
      ['paused event store', 2],
      ['proxy', 3],
      ['paused proxy', 2],
    ],
    brokers: 1,
  },
} as const satisfies Readonly<Record<string, { troubles: Troubles; brokers: number }>>;

export type StormName = keyof typeof STORMS;
