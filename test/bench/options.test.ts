import { expect, test } from 'vitest';
import { readOptions } from './options.ts';

test('without options everything is measured in three rounds', () => {
  expect(readOptions([])).toMatchObject({
    workloads: ['json', 'burst', 'paced', 'latency-json', 'latency-stream', 'ledger'],
    contenders: ['direct', 'nginx', 'floor', 'portkey', 'ours'],
    before: null,
    settlements: true,
    sealing: true,
    observed: true,
    fleet: true,
    fleetCost: true,
    hostile: true,
    replay: true,
    start: true,
    memory: true,
    disk: true,
    streams: { step: 100, most: 2_000 },
    events: 100_000,
    accounts: 60_000,
    rounds: 3,
    body: 'small',
    jsonFile: null,
  });
});

test('lists are taken in the order of all, and rounds stand above those of --quick', () => {
  const options = readOptions(['--quick', '--only', 'burst,json', '--contenders', 'ours, nginx', '--rounds', '2']);
  expect(options).toMatchObject({ workloads: ['json', 'burst'], contenders: ['nginx', 'ours'], rounds: 2 });
  expect(options.windowMs).toBeLessThan(readOptions([]).windowMs);
});

test('what was before is a contender where a commit is named, and beside ours both are there twice', () => {
  expect(readOptions(['--before', 'a111a14', '--contenders', 'before,ours'])).toMatchObject({
    contenders: ['before', 'before-again', 'ours-again', 'ours'],
    before: 'a111a14',
  });
  expect(readOptions(['--before', 'a111a14', '--contenders', 'before,floor']).contenders).toEqual(['floor', 'before']);
  expect(readOptions(['--contenders', 'before,ours']).contenders).toEqual(['ours']);
});

test('settlements and the fleet can be measured alone, and left out', () => {
  expect(readOptions(['--only', 'fleet'])).toMatchObject({ workloads: [], settlements: false, fleet: true });
  expect(readOptions(['--only', 'fleet-cost'])).toMatchObject({ workloads: [], fleet: false, fleetCost: true });
  expect(readOptions(['--only', 'settlements'])).toMatchObject({ workloads: [], settlements: true, fleet: false });
  expect(readOptions(['--only', 'json'])).toMatchObject({ workloads: ['json'], settlements: false });
});

test('what is weighed can be measured by itself, at a size', () => {
  expect(readOptions(['--only', 'export'])).toMatchObject({ workloads: [], export: true, verify: false });
  expect(readOptions(['--only', 'rebuild'])).toMatchObject({ workloads: [], rebuild: true, verify: false });
  expect(readOptions(['--only', 'copy'])).toMatchObject({ workloads: [], copy: true, rebuild: false });
  expect(readOptions(['--only', 'at'])).toMatchObject({ workloads: [], at: true, export: false });
  const only = readOptions(['--only', 'replay', '--events', '1000000']);
  expect(only).toMatchObject({ workloads: [], replay: true, start: false, streams: null, events: 1_000_000 });
  expect(readOptions(['--only', 'memory,disk', '--accounts', '20000'])).toMatchObject({
    ...{ replay: false, memory: true, disk: true, accounts: 20_000 },
  });
});

test.each([
  ['--only', 'jason'],
  ['--events', '999'],
  ['--events', 'all'],
  ['--accounts', '1000001'],
  ['--accounts', '19999'],
  ['--contenders', 'apache'],
  ['--contenders', 'ours-again'],
  ['--rounds', '0'],
  ['--rounds', '21'],
  ['--fast', ''],
])('refuses %s %s', (option, value) => {
  expect(() => readOptions([option, value])).toThrow();
});
