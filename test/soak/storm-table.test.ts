import { expect, it } from 'vitest';
import type { ClientKey, SentRequest } from '../crash/post-planned.ts';
import { type StormEvidence, stormCells, stormTable } from './storm-table.ts';

const ACCOUNTS = ['ada', 'bob'];
const KEYS: readonly ClientKey[] = ACCOUNTS.map((id) => ({ accountId: id, keyId: `key_${id}`, key: 'secret' }));
const me = (credits: number) => ({
  available_credits: credits,
  held_credits: 0,
  month: { month: '2026-11', account: { spent: 1 }, key: { spent: 1 } },
});

const wait = (lagMs: number) => ({ fromMs: 100_000, untilMs: 100_000 + lagMs });

/** What a storm that went well comes to. */
const well: StormEvidence = {
  kills: { relaysMs: [] },
  sent: Array.from({ length: 5 }, () => ({}) as SentRequest),
  proxies: 2,
  answers: ['http://a', 'http://b'].flatMap((url) => KEYS.map((key) => ({ url, key, me: me(100) }))),
  audit: {
    seen: 4,
    billed: { once: 4, lost: 0, twice: 0 },
    topic: { faults: [], lost: 0, outOfOrder: 0, duplicates: 2, waits: [wait(5), wait(30_000)] },
    gone: 0,
    events: 10,
    books: ACCOUNTS.map((accountId) => ({ accountId }) as StormEvidence['audit']['books'][number]),
  },
};

const wrongIn = (name: 'kafka' | 'eventstore', evidence: StormEvidence): string[] =>
  stormCells(name, evidence).flatMap((cell) => (cell.isRight ? [] : [cell.name]));

it('is right in every cell where each event came once, or again, and each request was billed once', () => {
  expect(wrongIn('kafka', well)).toEqual([]);
  expect(wrongIn('eventstore', well)).toEqual([]);
  expect(stormTable(stormCells('kafka', well))).toContain('every cell as promised');
});

const { audit, answers } = well;
const [first, ...others] = answers;

it.each([
  ['an event that is lost', 'kafka', { audit: { ...audit, topic: { ...audit.topic, lost: 1 } } }, 'lost'],
  ['one out of order', 'kafka', { audit: { ...audit, topic: { ...audit.topic, outOfOrder: 1 } } }, 'out of order'],
  [
    'a topic of which nothing was read',
    'kafka',
    { audit: { ...audit, topic: { ...audit.topic, waits: [] } } },
    'worst lag',
  ],
  [
    'an event that waited for longer than half a minute',
    'kafka',
    { audit: { ...audit, topic: { ...audit.topic, waits: [wait(5), wait(30_001)] } } },
    'worst lag',
  ],
  ['a request twice', 'eventstore', { audit: { ...audit, billed: { once: 4, lost: 0, twice: 1 } } }, 'twice'],
  ['a request that is lost', 'eventstore', { audit: { ...audit, billed: { once: 4, lost: 1, twice: 0 } } }, 'lost'],
  ['fewer billed than seen', 'eventstore', { audit: { ...audit, seen: 5 } }, 'billed exactly once'],
  ['no traffic', 'eventstore', { sent: [] }, 'requests sent'],
  [
    'a proxy that tells other figures',
    'kafka',
    { answers: [{ ...first, me: me(99) }, ...others] },
    '/me equal on all proxies',
  ],
  ['a proxy that tells nothing', 'eventstore', { answers: others }, '/me equal on all proxies'],
] as const)('is wrong with %s', (_, name, change, cell) => {
  const evidence = { ...well, ...change } as StormEvidence;
  expect(wrongIn(name, evidence)).toEqual([cell]);
  expect(stormTable(stormCells(name, evidence))).toContain(`WRONG: ${cell}`);
});

it('does not count as lost what went with a machine that was lost for good', () => {
  const gone = { ...audit, gone: 1, billed: { once: 3, lost: 1, twice: 0 } };
  expect(wrongIn('eventstore', { ...well, audit: gone })).toEqual([]);
});

it.each([
  ['just before', 90_000, []],
  ['while it waited', 130_000, []],
  ['long before', 80_000, ['worst lag']],
  ['after it had come', 150_000, ['worst lag']],
])('lets an event wait for the claim of a relay that was killed %s', (_, killedMs, wrong) => {
  const topic = { ...audit.topic, waits: [wait(47_000)] };
  expect(wrongIn('kafka', { ...well, kills: { relaysMs: [killedMs] }, audit: { ...audit, topic } })).toEqual(wrong);
});
