import type { Command } from 'commander';
import { counted } from '../../../contracts/money.ts';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { describeCheaperBetas } from '../../../ledger/catalog/cheaper-betas.ts';
import { plansOnSale } from '../../../ledger/catalog/known-plans.ts';
import { publishCatalog } from '../../../ledger/catalog/publish-catalog.ts';
import { describeUnknownNames } from '../../../ledger/catalog/unknown-names.ts';
import {
  type CommandContext,
  CommandError,
  configurationOf,
  EXIT,
  recordingOf,
  withBegunLog,
  withReadLog,
} from '../command-context.ts';
import { show, showWritten } from '../show.ts';
import { catalogText } from './catalog-text.ts';
import { addDiffCommand } from './diff-command.ts';
import { givenCatalog } from './given-catalog.ts';
import { addHistoryCommand } from './history-command.ts';

export function addCatalogCommands(catalog: Command, context: CommandContext): void {
  catalog
    .command('publish')
    .description('publish a catalog file as the next version; running gateways take it up by themselves')
    .argument('<file>', 'YAML or JSON; contracts/example-catalog.yaml shows every field')
    .addHelpText('after', '\nExample:\n  gateway catalog publish contracts/example-catalog.yaml')
    .action(async (file: string, _options: unknown, command: Command) => {
      // Before anything is begun for it.
      const read = givenCatalog(file, configurationOf(context, command));
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
        const { version, hash, models, plans } = result.catalog;
        for (const line of [...describeUnknownNames(models), ...describeCheaperBetas(models)])
          context.warn(`warning: ${line}\n`);
        const newCards = result.newCards.map(({ id, version }) => ({ id, version }));
        const cards = newCards.map(({ id, version }) => `  ${id}: rate card version ${version}`).join('\n');
        showWritten(context, command, recording.recordedAt, {
          json: { version, hash, published: true, models: models.length, plans: plans.length, newRateCards: newCards },
          text: `published catalog version ${version} with ${counted(models.length, 'model')}${plans.length === 0 ? '' : ` and ${counted(plans.length, 'plan')}`}${cards === '' ? '' : `; new prices:\n${cards}`}`,
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
        const [models, plans] = [[...state.models.values()], plansOnSale(state)];
        show(context, command, {
          json: { version, hash, models, plans },
          text: () => catalogText({ version, hash, models, plans }, context),
        });
      });
    });

  addDiffCommand(catalog, context);
  addHistoryCommand(catalog, context);
}
