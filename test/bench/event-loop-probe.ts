import { renameSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/**
 * Preloaded into the gateway with `--import`: measures how late its event loop is. On SIGUSR2 it writes what it has to
 * the file EVENT_LOOP_PROBE_FILE names and begins anew.
 *
 * A timer of 1 ms is the ruler; what is recorded is the time between two of its ticks, so that 1 ms of each sample is the
 * interval itself and only the rest is delay.
 */
const RESOLUTION_MS = 1;
const NS_PER_MS = 1_000_000;

export interface EventLoopDelay {
  /** How many times the file was written. */
  readonly sequence: number;
  readonly samples: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /**
   * The most CPU time that the thread took between two turns of the loop that a timer of 1 ms saw: what no other work on
   * the machine makes longer.
   */
  readonly turnCpuMaxMs: number;
}

const file = process.env.EVENT_LOOP_PROBE_FILE;
// A preloaded module is loaded by worker threads as well; their loops are not the one in question.
if (isMainThread && file !== undefined) watch(file);

function watch(target: string): void {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  const turn = longestTurn();
  let sequence = 0;
  process.on('SIGUSR2', () => {
    const delay: EventLoopDelay = {
      sequence: ++sequence,
      samples: histogram.count,
      p50Ms: delayOf(histogram.percentile(50)),
      p99Ms: delayOf(histogram.percentile(99)),
      maxMs: delayOf(histogram.max),
      turnCpuMaxMs: turn.take(),
    };
    // Renamed into place, so that whoever reads it never sees half of it.
    writeFileSync(`${target}.part`, JSON.stringify(delay));
    renameSync(`${target}.part`, target);
    histogram.reset();
  });
}

/** By the CPU time of this thread alone. */
function longestTurn(): { take(): number } {
  let longestUs = 0;
  let lastUs = threadCpuUs();
  setInterval(() => {
    const nowUs = threadCpuUs();
    longestUs = Math.max(longestUs, nowUs - lastUs);
    lastUs = nowUs;
  }, RESOLUTION_MS).unref();
  return {
    take: () => {
      const taken = longestUs;
      longestUs = 0;
      return taken / US_PER_MS;
    },
  };
}

function threadCpuUs(): number {
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

const US_PER_MS = 1_000;

const delayOf = (ns: number): number => Math.max(0, ns / NS_PER_MS - RESOLUTION_MS);
