import { expect, it } from 'vitest';
import { SeededRandom } from '../../fixtures/seeded-random.ts';
import { planRequest } from '../plan-request.ts';
import type { SentRequest } from '../post-planned.ts';
import { RUN_DRAIN_MS } from '../run-drain.ts';
import { auditEnding } from './audit-ending.ts';
import { auditRequests, type RequestEvidence } from './audit-requests.ts';
import { PRICES, usageData } from './example-books.ts';

const planned = { ...planRequest(new SeededRandom(1), 'r1', 'opal-000'), leaveAfterMs: null };
const refused: SentRequest = {
  planned,
  accountId: 'ada',
  keyId: 'key_a',
  url: 'http://127.0.0.1:1',
  sentAtMs: 0,
  left: false,
  heard: 'refused',
  status: 402,
  errorType: 'billing_error',
};
const seen = {
  id: 'r1',
  model: 'opal-000',
  stream: planned.isStream,
  atMs: 0,
  path: '/v1/messages',
  script: planned.script,
};
const evidence = (change: Partial<RequestEvidence>): RequestEvidence => ({
  sent: [refused],
  seen: [],
  usages: [],
  debits: [],
  prices: new Map(),
  killsMs: [],
  ...change,
});

it('finds a refusal for want of money that nobody has earned, and lets pass one that was', () => {
  expect(auditRequests(evidence({})).join()).toContain('refused with 402 billing_error');
  expect(auditRequests(evidence({ mayRefuse: ({ keyId }) => keyId === 'key_a' }))).toEqual([]);
});

it('takes an estimate for a whole answer whose client left, where it was read on for as long as that is done', () => {
  const ended = (afterMs: number): string => {
    const tokens = { input: 5, output: 9, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
    const finishedAt = new Date(afterMs).toISOString();
    const ending = { outcome: 'client_disconnected', source: 'estimated', startedAt: new Date(0).toISOString() };
    const usage = usageData('req_1', { keyId: 'key_a', model: 'opal-000', tokens, finishedAt, ...ending });
    const sent = { ...refused, status: 200, errorType: null, left: true, heard: 'nothing' as const };
    const whole = { ...seen, stream: true, script: { ...seen.script, ending: 'complete' } };
    return auditEnding({ seen: whole, sent, usage, prices: PRICES, killsMs: [] }).join();
  };
  expect(ended(RUN_DRAIN_MS - 1)).toContain('its source is estimated');
  expect(ended(RUN_DRAIN_MS)).toBe('');
});

it('finds a request without a record, but where the journal of its gateway is lost', () => {
  const sent = [{ ...refused, status: null, errorType: null, heard: 'nothing' as const }];
  expect(auditRequests(evidence({ sent, seen: [seen] })).join()).toContain('no UsageRecorded is there');
  const lost = evidence({ sent, seen: [seen], mayBeUnrecorded: ({ url }) => url === refused.url });
  expect(auditRequests(lost)).toEqual([]);
});
