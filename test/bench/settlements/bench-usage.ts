import type { UsageRecorded } from '../../../contracts/events.ts';
import { type KeyId, uuidV7 } from '../../../contracts/ids.ts';
import { rate } from '../../../contracts/money.ts';
import { rateCard, ratesFrom } from '../../../contracts/rate-card.ts';
import { requestIdFromUuid } from '../../fixtures/ledger/request-of-uuid.ts';

const RATES = ratesFrom(rate(3_000_000n), rate(15_000_000n));
if (RATES === null) throw new Error('the prices of the benchmark have whole cache rates');
/** What `usageNumber` is priced with. */
export const CARD = rateCard('opal-medium', 1, RATES, null);

/** A finished request with a prompt that was partly cached: three lines in its debit. */
export function usageNumber(sequence: number, key: KeyId): UsageRecorded {
  const nowMs = Date.now();
  const random = new Uint8Array(10);
  new DataView(random.buffer).setUint32(4, sequence);
  const at = new Date(nowMs).toISOString();
  return {
    requestId: requestIdFromUuid(uuidV7(nowMs, random)),
    keyId: key,
    model: 'opal-medium',
    upstream: { provider: 'bench', model: 'opal-medium', requestId: `req_upstream_${sequence}` },
    tokens: {
      input: 600 + (sequence % 97),
      output: 150 + (sequence % 53),
      cacheRead: 2_000,
      cacheWrite5m: 0,
      cacheWrite1h: 0,
    },
    lane: 'standard',
    outcome: 'completed',
    source: 'reported',
    billable: true,
    startedAt: at,
    finishedAt: at,
    rateCard: { id: CARD.id, version: CARD.version, hash: CARD.hash },
    hold: null,
    uses: {},
    unpriced: [],
  };
}
