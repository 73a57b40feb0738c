import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Processes } from '../../fixtures/processes/processes.ts';
import type { Contender } from '../contenders/contender.ts';
import type { Ours } from '../contenders/ours.ts';
import { LoadGenerator } from '../load-generator.ts';
import type { Bench } from '../measure.ts';
import { readOptions } from '../options.ts';
import { type Compared, measureRounds, orderOf } from './measure-rounds.ts';

test('each begins as often as the others, and each order comes in both directions', () => {
  const orders = Array.from({ length: 6 }, (_, round) => orderOf(['a', 'b', 'c'], round).join(''));
  expect(orders).toEqual(['abc', 'cba', 'bca', 'acb', 'cab', 'bac']);
  expect(orderOf(['a', 'b', 'c'], 6)).toEqual(['a', 'b', 'c']);
  expect([0, 1, 2].map((round) => orderOf(['a', 'b'], round).join(''))).toEqual(['ab', 'ba', 'ba']);
});

/** Processes that answer as the benchmark's upstream does, and what became of them. */
async function answering(warmUpRequests = 0) {
  const processes = new Processes();
  onTestFinished(() => processes.stopAll());
  const started: string[] = [];
  const pids: number[] = [];
  /** Whose port was asked for, in order: by each load on it. */
  const loaded: string[] = [];
  let asked = 0;
  const start = async (folder: string, name: 'ours' | 'before' | 'floor'): Promise<Contender> => {
    const child = processes.fork(folder, new URL('../fast-upstream/main.ts', import.meta.url));
    pids.push(child.pid ?? 0);
    const [{ port }] = await once(child, 'message');
    mkdirSync(join(processes.folder, folder, 'data'), { recursive: true });
    started.push(folder);
    return {
      name,
      get port() {
        asked++;
        if (loaded.at(-1) !== name) loaded.push(name);
        return port;
      },
      ...{ headers: [{}], pids: [child.pid ?? 0], needsWarmUp: true },
    };
  };
  const options = { ...readOptions(['--rounds', '2']), warmUpMs: 20, warmUpRequests, settleMs: 5, windowMs: 400 };
  const bench: Bench = { load: new LoadGenerator(processes), upstreamPid: process.pid, options };
  return { processes, started, pids, loaded, start, bench, asked: () => asked };
}

test('each round has new processes, measured each alone and all at once, and gone before the next begins', async () => {
  const { processes, started, pids, loaded, start, bench } = await answering();
  const fresh = (name: 'ours' | 'before'): Compared => ({
    type: 'fresh',
    start: async (folder) => {
      expect(pids.length % 2 === 1 || pids.every((pid) => !existsSync(`/proc/${pid}`))).toBe(true);
      return (await start(folder, name)) as Ours;
    },
  });
  const lasting: Compared = { type: 'lasting', contender: await start('floor-00-0', 'floor') };
  pids.length = 0;
  const compared = new Map<string, Compared>([
    ['floor', lasting],
    ['before', fresh('before')],
    ['ours', fresh('ours')],
  ]);
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const rounds = await measureRounds(bench, { processes, called: 'json', cores: null, compared, workload: 'json' });
  const lines = told.mock.calls.map(([line]) => String(line));
  told.mockRestore();
  // Each tells what it has measured, for whoever breaks the run off.
  expect(lines[0]).toMatch(/^json: 1 of 2 rounds: before \d+\.\d us, ours \d+\.\d us\n$/);
  expect(lines[1]).toMatch(/^json: 2 of 2 rounds: /);
  expect(started.toSorted()).toEqual(['floor-00-0', 'json-00-1', 'json-00-2', 'json-01-0', 'json-01-1']);
  // What is there for all is warmed up; those that are new are, too, and measured, all at once; then each alone. The second round is turned about.
  const first = ['floor', 'before', 'ours', 'before', 'ours', 'floor', 'before', 'ours'];
  const second = ['before', 'ours', 'before', 'ours', 'before', 'floor'];
  expect(loaded).toEqual([...first, ...second]);
  for (const [round, { alone, together }] of rounds.entries()) {
    expect([...alone].map(([name, sample]) => [name, sample.contender, sample.round])).toEqual(
      orderOf(['floor', 'before', 'ours'], round).map((name) => [name, name, round]),
    );
    expect([...together.keys()]).toEqual(
      orderOf(['floor', 'before', 'ours'], round).filter((name) => name !== 'floor'),
    );
    for (const { window } of together.values()) expect(window.requests).toBeGreaterThan(0);
  }
  for (const pid of pids) expect(existsSync(`/proc/${pid}`)).toBe(false);
  for (const folder of started)
    expect(existsSync(join(processes.folder, folder, 'data'))).toBe(folder === 'floor-00-0');
});

test('what is there for all rounds is measured in each, alone', async () => {
  const { processes, pids, start, bench } = await answering();
  const contender = await start('lasting', 'ours');
  const compared = new Map<string, Compared>([['ours', { type: 'lasting', contender }]]);
  const rounds = await measureRounds(bench, { processes, called: 'json', cores: null, compared, workload: 'json' });
  expect(rounds.map(({ alone, together }) => [[...alone.keys()], together.size])).toEqual([
    [['ours'], 0],
    [['ours'], 0],
  ]);
  expect(existsSync(`/proc/${pids[0]}`)).toBe(true);
});

test.each([
  // However busy the machine is.
  [0, 1],
  [1e9, 4],
])('what is new is warmed up until it has had %d requests, %d times at most', async (requests, warmUps) => {
  const { processes, start, bench, asked } = await answering(requests);
  const fresh: Compared = { type: 'fresh', start: async (folder) => (await start(folder, 'ours')) as Ours };
  const one = { ...bench, options: { ...bench.options, rounds: 1 } };
  const of = { processes, called: 'json', cores: null, workload: 'json' } as const;
  await measureRounds(one, { ...of, compared: new Map([['ours', fresh]]) });
  const ofOneLoad = 2;
  expect(asked()).toBe((warmUps + 2) * ofOneLoad);
});
