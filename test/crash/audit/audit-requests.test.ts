import { expect, it } from 'vitest';
import { planRequest } from '../planned-request.ts';
import type { SentRequest } from '../post-planned.ts';
import { SeededRandom } from '../seeded-random.ts';
import { auditRequests, type RequestEvidence } from './audit-requests.ts';

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

it('finds a request without a record, but where the journal of its gateway is lost', () => {
  const sent = [{ ...refused, status: null, errorType: null, heard: 'nothing' as const }];
  expect(auditRequests(evidence({ sent, seen: [seen] })).join()).toContain('no UsageRecorded is there');
  const lost = evidence({ sent, seen: [seen], mayBeUnrecorded: ({ url }) => url === refused.url });
  expect(auditRequests(lost)).toEqual([]);
});
