import type { Command } from 'commander';
import type { CatalogModel } from '../../../contracts/catalog.ts';
import { decodeEvent } from '../../../contracts/event-codec.ts';
import type { ReadableLog } from '../../../contracts/event-log.ts';
import type { DomainEvent } from '../../../contracts/events.ts';
import { accountOfStream } from '../../../contracts/ids.ts';
import { groupedCount, groupedExactUsd, groupedUsd, picoUsd } from '../../../contracts/money.ts';
import { monthOf, monthOfInstant } from '../../../ledger/account/month.ts';
import {
  catalogChanges,
  type ModelChange,
  type PlanChange,
  planChanges,
} from '../../../ledger/catalog/catalog-changes.ts';
import { type CatalogState, loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { describeCheaperBetas } from '../../../ledger/catalog/cheaper-betas.ts';
import { plansOnSale } from '../../../ledger/catalog/known-plans.ts';
import { decideCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { type Debit, type Rerated, ReratedUsage } from '../../../ledger/catalog/rerated-usage.ts';
import { describeUnknownNames } from '../../../ledger/catalog/unknown-names.ts';
import { assertBegun, monthArgument } from '../command-arguments.ts';
import { type CommandContext, configurationOf, withReadLog } from '../command-context.ts';
import { logWithProgress } from '../ledger/log-with-progress.ts';
import { fittingTable, show } from '../show.ts';
import { changesText } from './changes-text.ts';
import { givenCatalog } from './given-catalog.ts';

/** Those whose bill would change the most. */
const ACCOUNTS_SHOWN = 10;

/** `gateway catalog diff`: what a file would change, before it is published, also in money. */
export function addDiffCommand(catalog: Command, context: CommandContext): void {
  catalog
    .command('diff')
    .description(
      "what publishing a catalog file would change: models field by field, and a month's real usage rated by it, exactly",
    )
    .argument('<file>', 'YAML or JSON, as for `catalog publish`; nothing is published')
    .option('--month <YYYY-MM>', 'of requests that started in this month (UTC); by default the last one', monthArgument)
    .addHelpText(
      'after',
      '\nWhat was debited is what accounts paid for that usage: within its holds, with what was approved beyond them, and less' +
        ' what was reversed. All else is what rates make of the same usage: those that it was rated by when it was used, those in' +
        ' force, and those of the file; the difference is between the last two. What one of these two catalogs does not sell, or has' +
        ' no price for (a use that is billed by the use: it would be refused), is counted and not compared.\n\nExample:\n  gateway catalog diff catalog.yaml --month 2027-01',
    )
    .action(async (file: string, { month = monthBefore(context.clock()) }: { month?: string }, command: Command) => {
      const read = givenCatalog(file, configurationOf(context, command));
      await withReadLog(context, command, async (log) => {
        const state = await loadCatalog(log);
        const next = decideCatalog(state, read, new Date(context.clock()).toISOString());
        if (next === null) {
          const { version } = state;
          show(context, command, {
            json: { version, nextVersion: null, changes: [] },
            text: `nothing changes: ${file} is catalog version ${version}`,
          });
          return;
        }
        for (const line of [...describeUnknownNames(next.models), ...describeCheaperBetas(next.models)])
          context.warn(`warning: ${line}\n`);
        const changes = catalogChanges([...state.models.values()], next.models);
        const plans = planChanges(plansOnSale(state), next.plans);
        const rerated = await rerate(logWithProgress(log, context), { state, next: next.models, month });
        if (rerated.accounts.size === 0) assertBegun(month, context.clock());
        show(context, command, {
          json: {
            ...{ version: state.version, nextVersion: next.version, nextHash: next.hash, changes, plans, month },
            ...{ total: jsonOf(rerated.total), models: rowsOf(rerated.models).map(jsonOfRow('model')) },
            accounts: mostTouched(rerated).map(jsonOfRow('accountId')),
          },
          text: () => textOf({ from: state.version, to: next.version, changes, plans, month, rerated }, context),
          isPainted: true,
        });
      });
    });
}

function monthBefore(nowMs: number): string {
  const now = new Date(nowMs);
  return monthOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1));
}

interface Rerating {
  readonly state: CatalogState;
  readonly next: readonly CatalogModel[];
  readonly month: string;
}

const COUNTED: ReadonlySet<string> = new Set([
  ...['UsageRecorded', 'LateUsageReported', 'CreditsDebited', 'ExceptionApproved', 'DebitReversed'],
]);

/** Event by event: models and accounts are kept, and no request. @throws UnreadableEventError */
async function rerate(log: ReadableLog, { state, next, month }: Rerating): Promise<ReratedUsage> {
  const rerated = new ReratedUsage(state, next);
  for await (const recorded of log.readAll()) {
    const account = accountOfStream(recorded.stream);
    if (account === null || !COUNTED.has(recorded.type)) continue;
    const event = decodeEvent(recorded);
    const usage =
      event.type === 'UsageRecorded' ? event.data : event.type === 'LateUsageReported' ? event.data.usage : null;
    if (usage?.billable && monthOfInstant(usage.startedAt) === month) rerated.add(account, usage);
    if (isDebit(event) && event.data.month === month) rerated.addDebit(account, event);
  }
  return rerated;
}

const isDebit = (event: DomainEvent): event is Debit =>
  event.type === 'CreditsDebited' || event.type === 'ExceptionApproved' || event.type === 'DebitReversed';

type Row = readonly [name: string, costs: Rerated];

const differenceOf = ({ inForce, next }: Rerated) => picoUsd(next - inForce);
const sizeOf = ([, costs]: Row): bigint => (differenceOf(costs) < 0n ? -differenceOf(costs) : differenceOf(costs));

/** The largest difference first, in either direction; then by name. */
const rowsOf = (sums: ReadonlyMap<string, Rerated>): Row[] =>
  [...sums].sort(
    (one, other) =>
      Number(sizeOf(other) > sizeOf(one)) - Number(sizeOf(other) < sizeOf(one)) || (one[0] < other[0] ? -1 : 1),
  );

const mostTouched = ({ accounts }: ReratedUsage): Row[] =>
  rowsOf(accounts)
    .filter(([, costs]) => differenceOf(costs) !== 0n)
    .slice(0, ACCOUNTS_SHOWN);

const jsonOf = (costs: Rerated) => ({
  requests: costs.requests,
  notCompared: costs.notCompared,
  noPrice: costs.unpriced,
  debitedMicroUsd: costs.debited,
  byItsCardsPicoUsd: costs.byItsCards,
  inForcePicoUsd: costs.inForce,
  nextPicoUsd: costs.next,
  differencePicoUsd: differenceOf(costs),
});

const jsonOfRow =
  (name: string) =>
  ([of, costs]: Row) => ({ [name]: of, ...jsonOf(costs) });

interface Diff {
  readonly from: number;
  readonly to: number;
  readonly changes: readonly ModelChange[];
  readonly plans: readonly PlanChange[];
  readonly month: string;
  readonly rerated: ReratedUsage;
}

function textOf({ from, to, changes, plans, month, rerated }: Diff, context: CommandContext): string {
  const head = `catalog version ${from} would become version ${to}; prices are USD per million tokens, and a use`;
  const parts = [head, changesText(changes, plans, context)];
  if (rerated.total.requests === 0) return [...parts, `${month} has no usage that was charged for`].join('\n\n');
  const isUnpriced = rerated.total.unpriced > 0;
  const costs = (name: string, rows: readonly Row[]): string =>
    fittingTable(
      [
        { head: name, align: 'left' },
        ...[
          ...['requests', 'not compared', ...(isUnpriced ? ['no price'] : [])],
          ...['debited USD', 'by its cards', 'in force', 'by the file', 'difference'],
        ].map((head) => ({ head, align: 'right' as const })),
      ],
      rows.map(([of, one]) => [
        of,
        groupedCount(one.requests),
        groupedCount(one.notCompared),
        ...(isUnpriced ? [groupedCount(one.unpriced)] : []),
        groupedUsd(one.debited),
        ...[one.byItsCards, one.inForce, one.next, differenceOf(one)].map(groupedExactUsd),
      ]),
      context,
    );
  const touched = mostTouched(rerated);
  return [
    ...parts,
    `the usage of ${month}, rated again:`,
    costs('model', [...rowsOf(rerated.models), ['all', rerated.total]]),
    ...(touched.length === 0 ? [] : [costs('account', touched)]),
  ].join('\n\n');
}
