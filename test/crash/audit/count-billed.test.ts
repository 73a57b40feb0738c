import { expect, it } from 'vitest';
import type { DebitData, UsageData } from '../../../ledger/audit/stored-event.ts';
import type { SentRequest } from '../post-planned.ts';
import { countBilled } from './count-billed.ts';
import type { RecordedRequest } from './upstream-record.ts';

const sent = ['r0', 'r1', 'r2'].map((id) => ({ keyId: 'key', planned: { id, model: `model-${id}` } }) as SentRequest);
const seen = sent.map(({ planned }) => ({ id: planned.id }) as RecordedRequest);
const usage = (id: string, requestId = `req-${id}`) =>
  ({ keyId: 'key', model: `model-${id}`, requestId }) as unknown as UsageData;
const debit = (id: string) => ({ requestId: `req-${id}` }) as DebitData;
const once = { sent, seen, usages: ['r0', 'r1', 'r2'].map((id) => usage(id)), debits: [debit('r0'), debit('r1')] };

it.each([
  ['all recorded once, one of them free', {}, { once: 3, lost: 0, twice: 0 }],
  ['one not recorded', { usages: [usage('r0'), usage('r1')] }, { once: 2, lost: 1, twice: 0 }],
  ['one recorded twice', { usages: [...once.usages, usage('r0', 'again')] }, { once: 2, lost: 0, twice: 1 }],
  ['one debited twice', { debits: [...once.debits, debit('r1')] }, { once: 2, lost: 0, twice: 1 }],
  ['one that nobody sent', { seen: [...seen, { id: 'r9' } as RecordedRequest] }, { once: 3, lost: 1, twice: 0 }],
] as const)('counts %s', (_, change, counts) => {
  expect(countBilled({ ...once, ...change })).toEqual(counts);
});
