import type { Command } from 'commander';
import type { CatalogModel } from '../../../contracts/catalog.ts';
import type { EventLog } from '../../../contracts/event-log.ts';
import { nearName } from '../../../contracts/near-name.ts';
import type { CatalogPlan } from '../../../contracts/plan.ts';
import {
  catalogChanges,
  type ModelChange,
  type PlanChange,
  planChanges,
} from '../../../ledger/catalog/catalog-changes.ts';
import { readPublications } from '../../../ledger/catalog/catalog-state.ts';
import { instantArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT, withReadLog } from '../command-context.ts';
import { show } from '../show.ts';
import { catalogText } from './catalog-text.ts';
import { changesText } from './changes-text.ts';

interface Version {
  readonly version: number;
  readonly hash: string;
  readonly publishedAt: string;
  readonly actor: string;
  readonly models: readonly CatalogModel[];
  readonly plans: readonly CatalogPlan[];
  readonly changes: readonly ModelChange[];
  readonly planChanges: readonly PlanChange[];
}

/** `gateway catalog history`: each published catalog, or the one that was in force at an instant. */
export function addHistoryCommand(catalog: Command, context: CommandContext): void {
  catalog
    .command('history')
    .description('each published catalog: when, by whom, and what it changed; or prices as they were at an instant')
    .argument('[model]', 'only what changed of this model')
    .option('--at <time>', 'the catalog that was in force then, instead (a date, or RFC 3339)', instantArgument)
    .addHelpText(
      'after',
      '\nExamples:\n  gateway catalog history\n  gateway catalog history opal-medium\n  gateway catalog history --at 2027-01-31',
    )
    .action(async (model: string | undefined, { at }: { readonly at?: number }, command: Command) => {
      await withReadLog(context, command, async (log) => {
        const versions = await versionsOf(log);
        if (model !== undefined) assertListed(model, versions);
        if (at !== undefined) showAt(versions, { model, at, context, command });
        else showAll(versions, { model, context, command });
      });
    });
}

async function versionsOf(log: EventLog): Promise<Version[]> {
  const versions: Version[] = [];
  for await (const { data, metadata } of readPublications(log)) {
    const { version, hash, publishedAt, models, plans } = data;
    const changes = catalogChanges(versions.at(-1)?.models ?? [], models);
    const ofPlans = planChanges(versions.at(-1)?.plans ?? [], plans);
    const { actor } = metadata;
    versions.push({ version, hash, publishedAt, actor, models, plans, changes, planChanges: ofPlans });
  }
  return versions;
}

function assertListed(model: string, versions: readonly Version[]): void {
  const listed = new Set(versions.flatMap(({ models }) => models.map(({ id }) => id)));
  if (listed.has(model)) return;
  const near = nearName(model, listed);
  throw new CommandError(
    `no catalog has had a model ${JSON.stringify(model)}${near === null ? '' : ` (is ${near} meant?)`}`,
    EXIT.refused,
  );
}

interface Shown {
  readonly model: string | undefined;
  readonly context: CommandContext;
  readonly command: Command;
}

function showAll(versions: readonly Version[], { model, context, command }: Shown): void {
  const rows = versions
    .map(({ models: _models, plans: _plans, changes, planChanges, ...rest }) => ({
      ...rest,
      planChanges: model === undefined ? planChanges : [],
      changes: changes.filter((change) => model === undefined || change.model === model),
    }))
    .filter(({ changes }) => model === undefined || changes.length > 0);
  const textOf = ({ version, hash, publishedAt, actor, changes, planChanges }: (typeof rows)[number]): string =>
    `version ${version} (${hash.slice(0, 12)}), ${publishedAt}, ${actor}\n${changesText(changes, planChanges, context)}`;
  show(context, command, {
    json: rows,
    text: () => (rows.length === 0 ? 'no catalog is published yet' : rows.map(textOf).join('\n\n')),
    isPainted: true,
  });
}

function showAt(versions: readonly Version[], { model, at, context, command }: Shown & { readonly at: number }): void {
  const inForce = versions.findLast(({ publishedAt }) => Date.parse(publishedAt) <= at);
  const then = new Date(at).toISOString();
  if (at > context.clock())
    context.warn(`warning: --at: ${then} has not come yet: until now this is what is in force then\n`);
  if (inForce === undefined) throw new CommandError(`no catalog was published by ${then}`, EXIT.refused);
  const { version, hash, publishedAt, actor } = inForce;
  const models = inForce.models.filter(({ id }) => model === undefined || id === model);
  const plans = model === undefined ? inForce.plans : [];
  show(context, command, {
    json: { at: then, version, hash, publishedAt, actor, models, plans },
    text: () =>
      `in force at ${then}, published ${publishedAt} by ${actor}:\n${catalogText({ version, hash, models, plans }, context)}`,
  });
}
