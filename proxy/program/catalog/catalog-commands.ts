import type { Command } from 'commander';
import { SHIPPED } from '../../../contracts/betas.ts';
import type { CatalogModel } from '../../../contracts/catalog.ts';
import type { Configuration } from '../../../contracts/configuration.ts';
import { formatUsd, microUsd, PICO_PER_MICRO } from '../../../contracts/money.ts';
import type { RateCard } from '../../../contracts/rate-card.ts';
import { type CatalogState, loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { describeCheaperBetas } from '../../../ledger/catalog/cheaper-betas.ts';
import { type KnownProviders, knownProviders } from '../../../ledger/catalog/gateway-providers.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { readCatalogFile } from '../../../ledger/catalog/read-catalog-file.ts';
import { describeUnknownNames } from '../../../ledger/catalog/unknown-names.ts';
import { textOfArgument } from '../../../ledger/named-file.ts';
import {
  type CommandContext,
  CommandError,
  configurationOf,
  EXIT,
  recordingOf,
  withBegunLog,
  withReadLog,
} from '../command-context.ts';
import { show, showWritten, table } from '../show.ts';

export function addCatalogCommands(catalog: Command, context: CommandContext): void {
  catalog
    .command('publish')
    .description('publish a catalog file as the next version; running gateways take it up by themselves')
    .argument('<file>', 'YAML or JSON; contracts/example-catalog.yaml shows every field')
    .addHelpText('after', '\nExample:\n  gateway catalog publish contracts/example-catalog.yaml')
    .action(async (file: string, _options: unknown, command: Command) => {
      // Before anything is begun for it.
      const read = readCatalogFile(file, providersFor(configurationOf(context, command)), textOfArgument);
      await withBegunLog(context, command, async (log) => {
        const recording = recordingOf(context);
        const result = await publishCatalog(log, read, recording);
        if (result.type === 'conflict')
          throw new CommandError(
            'another catalog was published at the same moment; look at it (catalog show) and publish again',
            EXIT.refused,
          );
        if (result.type === 'unchanged') {
          const { version } = result;
          showWritten(context, command, null, {
            json: { version, published: false },
            text: `nothing changes: the catalog stays at version ${version}`,
          });
          return;
        }
        const { version, hash, models } = result.catalog;
        for (const line of [...describeUnknownNames(models), ...describeCheaperBetas(models)])
          context.warn(`warning: ${line}\n`);
        const newCards = result.newCards.map(({ id, version }) => ({ id, version }));
        const cards = newCards.map(({ id, version }) => `  ${id}: rate card version ${version}`).join('\n');
        showWritten(context, command, recording.recordedAt, {
          json: { version, hash, published: true, models: models.length, newRateCards: newCards },
          text: `published catalog version ${version} with ${models.length} models${cards === '' ? '' : `; new prices:\n${cards}`}`,
        });
      });
    });

  catalog
    .command('show')
    .description('show the catalog in force')
    .action(async (_options: unknown, command: Command) => {
      await withReadLog(context, command, async (log) => {
        const state = await loadCatalog(log);
        const { version, hash } = state;
        show(context, command, {
          json: { version, hash, models: [...state.models.values()] },
          text: () => textOf(state),
        });
      });
    });
}

/** @throws CommandError where what the running gateway has cannot be told */
function providersFor(configuration: Configuration): KnownProviders {
  try {
    return knownProviders(configuration);
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error), EXIT.unavailable);
  }
}

function textOf({ version, hash, models }: CatalogState): string {
  if (version === 0) return 'no catalog is published yet: gateway catalog publish FILE';
  const rows = [...models.values()].map((model) => [
    model.id,
    model.family,
    model.status + (model.retiresAt === null ? '' : ` (${model.retiresAt.slice(0, 10)}, then ${model.replacement})`),
    model.free ? 'free' : formatUsd(model.rateCard.rates.input),
    model.free ? 'free' : formatUsd(model.rateCard.rates.output),
    model.lanes.join(', '),
    usesOf(model.rateCard),
    betasOf(model),
    `${model.rateCard.version}`,
    model.upstreams.map(({ provider, model: name }) => `${provider}/${name}`).join(', '),
  ]);
  const head = [
    'model',
    'family',
    'status',
    'input USD/MTok',
    'output',
    'lanes',
    'USD a use',
    'betas',
    'card',
    'upstreams',
  ];
  return `catalog version ${version} (${hash.slice(0, 12)})\n${table(head, rows)}`;
}

/** USD a use, a line each. */
const usesOf = ({ uses }: Pick<RateCard, 'uses'>): string[] =>
  Object.entries(uses).map(([name, rate]) => `${name} ${formatUsd(microUsd(rate / PICO_PER_MICRO))}`);

/** The shipped list as the word that stands for it, and each of the others with what it changes; a line each. */
const betasOf = ({ betas }: CatalogModel): string[] => [
  ...(betas.shipped ? [SHIPPED] : []),
  ...betas.listed.map(({ name, contextWindow, rateCard }) => {
    const changes = [
      ...(contextWindow === null ? [] : [`window ${contextWindow}`]),
      ...(rateCard === null
        ? []
        : [`input ${formatUsd(rateCard.rates.input)}, output ${formatUsd(rateCard.rates.output)}`]),
    ];
    return changes.length === 0 ? name : `${name} (${changes.join(', ')})`;
  }),
];
