import type { Configuration } from '../../../contracts/configuration.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { counted } from '../../../contracts/money.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { knownProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { callableModels } from '../../admission/model-lifecycle.ts';
import { describeUnserved } from '../../unserved-models.ts';
import { startedWithOf } from '../next-command.ts';
import { catalogNotice, readConfiguredCatalog } from '../serve/catalog-at-start.ts';
import { type Examined, type Found, fault, ok, warn } from './finding.ts';

/** Why the next start publishes none; null where it does. Of a ledger that is yet to be begun. */
export function faultOfCatalogFile(configuration: Configuration): Found | null {
  const configured = readConfiguredCatalog(configuration);
  return configured.type === 'unusable' ? fault(configured.error.message) : null;
}

/** Whether one is in force, is the configured one, and has a provider for each model. */
export async function lookAtCatalog(log: EventLog, { context, configuration }: Examined): Promise<Found> {
  const state = await loadCatalog(log);
  const configured = readConfiguredCatalog(configuration);
  if (configured.type === 'unusable' && state.version === 0) return fault(configured.error.message);
  if (state.version === 0 && configured.type !== 'none') return ok('none is in force: the next start publishes one');
  const notice = await catalogNotice(log, state, { configured, startedWith: startedWithOf(context) });
  if (notice !== null && state.version === 0) return warn(notice.message);
  const { names } = knownProviders(configuration);
  const without = callableModels(state, context.clock()).filter(
    ({ upstreams }) => !upstreams.some(({ provider }) => names.includes(provider)),
  );
  const unserved = describeUnserved(state, without);
  if (unserved !== null) return fault(unserved, 'mend `providers`, or publish a catalog without them');
  if (notice !== null) return warn(notice.message);
  return ok(`version ${state.version} with ${counted(state.models.size, 'model')} is in force, each has a provider`);
}
