import type { Command } from 'commander';
import { loadCatalog } from '../../../ledger/catalog/catalog-state.ts';
import { plansOnSale } from '../../../ledger/catalog/known-plans.ts';
import { productArgument } from '../command-arguments.ts';
import { type CommandContext, withReadLog } from '../command-context.ts';
import { refuseProduct } from '../product-words.ts';
import { show } from '../show.ts';
import { plansText } from './catalog-text.ts';

/** `gateway plan list`. (`gateway account plan` gives an account one.) */
export function addPlanCommands(plan: Command, context: CommandContext): void {
  plan
    .command('list')
    .description('list the plans of the catalog in force: what they cost a month, and what they give')
    .option('--product <name>', 'of this product alone', productArgument)
    .addHelpText('after', '\nExample:\n  gateway plan list')
    .action(async ({ product }: { readonly product?: string }, command: Command) => {
      await withReadLog(context, command, async (log) => {
        const catalog = await loadCatalog(log);
        const all = plansOnSale(catalog);
        const plans = all.filter((one) => product === undefined || one.product === product);
        if (product !== undefined && plans.length === 0)
          refuseProduct(
            product,
            'the catalog has no plans',
            all.map((one) => one.product),
          );
        const { version } = catalog;
        show(context, command, {
          json: { version, plans },
          text: () =>
            plans.length === 0
              ? 'the catalog has no plans: see `plans` in contracts/example-catalog.yaml'
              : plansText(plans, context),
        });
      });
    });
}
