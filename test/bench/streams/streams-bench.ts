import { setTimeout } from 'node:timers/promises';
import type { Contender } from '../contenders/contender.ts';
import { SLOW_EVENTS, SLOW_PACE_MS } from '../fast-upstream/answers.ts';
import type { Bench } from '../measure.ts';
import { usageOf } from '../process-usage.ts';
import { requestBody, requestText } from '../request-body.ts';
import { mostThatHold, type StreamsFigure, type StreamsRange } from './streams-figures.ts';

/** How long the streams take to begin, to settle, and are counted: all of it before the first of them ends. */
const SPREAD_MS = 2_000;
const SETTLE_MS = 1_000;
const WINDOW_MS = 2_500;
/** What a trial leaves behind is done with before the next one. */
const REST_MS = 500;
const ADDED_P99_MS_MAX = 20;
/** Of the events that were due: who is behind delivers fewer. */
const DELIVERED_LEAST = 0.95;
/** A number that did not hold is tried again: other work on the machine may have been in the way. */
const TRIES = 2;
const WARM_UP_STREAMS = 300;
const EVENTS_PER_S = 1_000 / SLOW_PACE_MS;

interface Trial {
  readonly holds: boolean;
  readonly addedP99Ms: number;
  readonly bareP99Ms: number;
  readonly cpuUsPerEvent: number;
  readonly why: string;
}

const NOTHING_HELD = { addedP99Ms: Number.NaN, bareP99Ms: Number.NaN, cpuUsPerEvent: Number.NaN };

/** The most streams that each contender holds, one contender after another. */
export async function measureStreams(
  bench: Bench,
  { contenders, direct, range }: { contenders: readonly Contender[]; direct: Contender; range: StreamsRange },
): Promise<StreamsFigure[]> {
  /** Without a proxy, by the number of streams. */
  const bare = new Map<number, number>();
  const delayWithout = async (streams: number): Promise<number> => {
    const known = bare.get(streams) ?? (await underStreams(bench, direct, streams)).delayP99Ms;
    bare.set(streams, known);
    return known;
  };
  const figures: StreamsFigure[] = [];
  for (const contender of contenders.filter(({ name }) => name !== direct.name)) {
    if (contender.needsWarmUp) await warmUp(bench, contender);
    const attempt = async (streams: number): Promise<Trial> => {
      const bare = await delayWithout(streams);
      let trial = await tryStreams(bench, contender, { streams, bareP99Ms: bare });
      for (let tries = 1; tries < TRIES && !trial.holds; tries++)
        trial = await tryStreams(bench, contender, { streams, bareP99Ms: bare });
      return trial;
    };
    const { streams, held, failed } = await mostThatHold(range, attempt);
    const { addedP99Ms, bareP99Ms, cpuUsPerEvent } = held ?? NOTHING_HELD;
    const why = failed?.why ?? null;
    figures.push({ contender: contender.name, streams, addedP99Ms, bareP99Ms, cpuUsPerEvent, why });
  }
  return figures;
}

async function tryStreams(
  bench: Bench,
  contender: Contender,
  { streams, bareP99Ms }: { streams: number; bareP99Ms: number },
): Promise<Trial> {
  try {
    const { delayP99Ms, delivered, cpuUsPerEvent } = await underStreams(bench, contender, streams);
    const addedP99Ms = delayP99Ms - bareP99Ms;
    const why =
      delivered < DELIVERED_LEAST
        ? `${(delivered * 100).toFixed(0)}% of the events came`
        : `added p99 ${addedP99Ms.toFixed(1)} ms`;
    const holds = addedP99Ms < ADDED_P99_MS_MAX && delivered >= DELIVERED_LEAST;
    return { holds, addedP99Ms, bareP99Ms, cpuUsPerEvent, why };
  } catch (error) {
    // A stream that was refused or cut is not held.
    return { holds: false, ...NOTHING_HELD, why: String(error).slice(0, 80) };
  }
}

async function underStreams({ load, options }: Bench, contender: Contender, streams: number) {
  await load.start(streamsOf(contender, streams, options.body));
  try {
    await setTimeout(SPREAD_MS + SETTLE_MS);
    await load.mark();
    const cpuBefore = usageOf(contender.pids).cpuUs;
    await setTimeout(WINDOW_MS);
    const cpuUs = usageOf(contender.pids).cpuUs - cpuBefore;
    const { events, seconds, delay } = await load.read();
    return {
      delayP99Ms: delay.p99Us / 1_000,
      delivered: events / (streams * EVENTS_PER_S * seconds),
      cpuUsPerEvent: cpuUs / events,
    };
  } finally {
    await load.stop();
    await setTimeout(REST_MS);
  }
}

async function warmUp({ load, options }: Bench, contender: Contender): Promise<void> {
  await load.start(streamsOf(contender, WARM_UP_STREAMS, options.body));
  await setTimeout(options.warmUpMs);
  await load.stop();
  await setTimeout(REST_MS);
}

const streamsOf = ({ port, headers }: Contender, connections: number, size: 'small' | 'large') => ({
  port,
  requests: headers.map((one) => requestText({ port, headers: one }, requestBody('slow', size))),
  connections,
  eventsPerAnswer: SLOW_EVENTS,
  countsEventsAsTheyCome: true,
  requestsPerS: null,
  spreadMs: SPREAD_MS,
  readsStamps: true,
});
