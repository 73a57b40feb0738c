import type { CatalogModel } from '../../contracts/catalog.ts';
import { groupedUsd } from '../../contracts/money.ts';

/**
 * Betas that make a model cheaper: any client can send the header, and is then held and billed by the lower price. Right
 * where the provider bills so, which nothing here can know; so it is told, and not refused. A line each.
 */
export const describeCheaperBetas = (models: readonly CatalogModel[]): string[] =>
  models.flatMap(({ id, betas, rateCard }) =>
    betas.listed.flatMap(({ name, rateCard: own }) =>
      (['input', 'output'] as const).flatMap((price) =>
        own === null || own.rates[price] >= rateCard.rates[price]
          ? []
          : [
              `${id}: with the beta ${name} ${price} costs ${groupedUsd(own.rates[price])} USD per million tokens, less than the ` +
                `model's ${groupedUsd(rateCard.rates[price])}: whoever sends it pays that`,
            ],
      ),
    ),
  );
