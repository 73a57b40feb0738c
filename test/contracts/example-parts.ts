import type { CatalogModel } from '../../contracts/catalog.ts';
import { grantId, keyId, leaseId, proxyId, requestId } from '../../contracts/ids.ts';
import { rate } from '../../contracts/money.ts';
import { rateCard } from '../../contracts/rate-card.ts';

/** What examples of several events name. */
export const REQUEST = requestId('req_019a5b3c00007000800000000000000a');
export const KEY = keyId('key_0123456789abcdef');
export const GRANT = grantId('grant-1');
export const PROXY = proxyId('proxy-1');
export const LEASE = leaseId('lease-1');
export const SHA256 = 'a3'.repeat(32);
export const AT = '2026-11-05T10:20:30.456Z';
export const UNTIL = '2026-11-05T10:21:00.000Z';
export const LATER = '2026-12-05T10:20:30.456Z';
export const CARD = rateCard(
  'opal-medium',
  2,
  {
    input: rate(3_000_000n),
    output: rate(15_000_000n),
    cacheRead: rate(300_000n),
    cacheWrite5m: rate(3_750_000n),
    cacheWrite1h: rate(6_000_000n),
  },
  2,
);
export const MODEL: CatalogModel = {
  id: 'opal-medium',
  displayName: 'Opal Medium',
  family: 'opal',
  label: 'Opal Medium',
  group: 'Opal',
  note: 'Größe: medium',
  contextWindow: 1_000_000,
  caching: 'explicit',
  showcase: true,
  status: 'deprecated',
  retiresAt: '2027-03-31T00:00:00.000Z',
  replacement: 'opal-large',
  lanes: ['standard', 'fast'],
  free: false,
  upstreams: [{ provider: 'mock', model: 'opal-medium' }],
  rateCard: CARD,
  betas: { shipped: true, listed: [] },
  systemRole: false,
};
/** With prices a use, and with betas that change the window, or the price. */
export const PRICED: CatalogModel = {
  ...MODEL,
  status: 'active',
  retiresAt: null,
  replacement: null,
  rateCard: rateCard('opal-medium', 3, CARD.rates, 2, { web_search_requests: rate(10_000_000_000n) }),
  betas: {
    shipped: false,
    listed: [
      { name: 'interleaved-thinking-2025-05-14', contextWindow: null, rateCard: null },
      {
        name: 'context-1m-2025-08-07',
        contextWindow: 1_000_000,
        rateCard: rateCard(
          'opal-medium+context-1m-2025-08-07',
          1,
          {
            input: rate(6_000_000n),
            output: rate(22_500_000n),
            cacheRead: rate(600_000n),
            cacheWrite5m: rate(7_500_000n),
            cacheWrite1h: rate(12_000_000n),
          },
          2,
          { web_search_requests: rate(10_000_000_000n) },
        ),
      },
    ],
  },
};
