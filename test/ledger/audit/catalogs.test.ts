import { expect, it } from 'vitest';
import { catalogFileSchema } from '../../../contracts/catalog.ts';
import type { RateCard } from '../../../contracts/rate-card.ts';
import { describeFault } from '../../../ledger/audit/fault.ts';
import { LedgerAudit } from '../../../ledger/audit/ledger-audit.ts';
import { OwnCatalog } from '../../../ledger/audit/own-catalog.ts';
import type { UsageData } from '../../../ledger/audit/stored-event.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { recordingBy } from '../../../ledger/recording-by.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';

const BETA = 'context-1m-2025-08-07';
const DEARER = { name: BETA, context_window: 1_000_000, price: { input: '6.00', output: '22.50' } };
/** What may differ from one version of a catalog to the next. */
const VERSIONS: readonly object[] = [
  {},
  { system_role: true },
  { betas: [] },
  { betas: ['shipped', BETA] },
  { betas: ['shipped', DEARER] },
  { betas: [DEARER], system_role: true, lanes: ['standard', 'fast'] },
  { price: { input: '3.00', output: '15.00', uses: { web_search_requests: '0.01' } } },
  { free: true, price: undefined },
];
const NOW = Date.UTC(2026, 10, 20, 10);

async function published(versions: readonly object[]) {
  const log = new MemoryEventLog();
  for (const [at, more] of versions.entries()) {
    const file = catalogFileSchema.parse({ models: [catalogEntry('opal-x', more)] });
    await publishCatalog(log, file, recordingBy('operator', NOW + at * 60_000));
  }
  return log.events;
}

it('are right as they are published, whatever they say of betas, uses, lanes and roles', async () => {
  const events = await published(VERSIONS);
  const faults: string[] = [];
  const audit = new LedgerAudit({ onFault: (fault) => faults.push(describeFault(fault)) });
  for (const event of events) audit.take(event);
  audit.end();
  expect([events.length, faults]).toEqual([VERSIONS.length, []]);
});

it('are right with plans, and a plan that was changed behind is told by the hash', async () => {
  const log = new MemoryEventLog();
  const plan = { id: 'team', label: 'Team', price: '200.00', credits: '260.00', rate_limits: {}, models: ['opal-x'] };
  const file = catalogFileSchema.parse({ models: [catalogEntry('opal-x')], plans: [plan] });
  await publishCatalog(log, file, recordingBy('operator', NOW));
  const faultsOf = (change: (data: string) => string): string[] => {
    const faults: string[] = [];
    const audit = new LedgerAudit({ onFault: (fault) => faults.push(describeFault(fault)) });
    for (const event of log.events) audit.take({ ...event, data: change(event.data) });
    audit.end();
    return faults;
  };
  expect(faultsOf((data) => data)).toEqual([]);
  expect(faultsOf((data) => data.replace('"260000000"', '"261000000"'))).toEqual([
    expect.stringMatching(/the catalog's hash/),
  ]);
});

it('have the prices of a beta for requests of its model, and of no other', async () => {
  const catalog = new OwnCatalog();
  const [event] = await published([{ betas: ['shipped', DEARER] }]);
  const data = JSON.parse(event?.data ?? '');
  catalog.take({ data } as never, (what) => expect.fail(what));
  const rateCard: RateCard = data.models[0].betas.listed[0].rateCard;
  const startedAt = new Date(NOW).toISOString();
  const cardOf = (model: string) => catalog.cardOf({ model, rateCard, startedAt } as never as UsageData);
  expect(cardOf('opal-x')).toMatchObject({ input: 6_000_000n, output: 22_500_000n });
  expect(cardOf('opal')).toBe(`names the rate card of ${rateCard.id}, and is of opal`);
});
