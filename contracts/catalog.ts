import { z } from 'zod';
import { betaNameField, SHIPPED } from './betas.ts';
import { boundedList, text } from './bounded-length.ts';
import { instantField, useNameField } from './event-fields.ts';
import { LIMITS } from './limits.ts';
import { MICRO_PER_USD, type MicroUsd, PICO_PER_MICRO, parseUsd, rate } from './money.ts';
import { nearName } from './near-name.ts';
import { KNOWN_USES } from './outside-input.ts';
import { filePlan } from './plan.ts';
import { type Rates, rateCardField, ratesFrom, type UseRates } from './rate-card.ts';

/** Neutral tags, which whoever writes the catalog chooses (interface, 3.3). */
export const familyField = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'expected a-z, 0-9 and - (at most 40)');
const MODEL_ID_PATTERN = /^[a-z0-9][a-z0-9._:/-]{0,127}$/i;

const upstream = z.strictObject({
  /** A provider of the configuration, or `mock`, which is built in. */
  provider: text,
  /** What the model is called there. */
  model: text,
});

const shownModel = {
  id: z.string().regex(MODEL_ID_PATTERN, 'expected letters, digits and . _ : / - (at most 128)'),
  family: familyField,
  label: text,
  group: text,
  note: z.string().nullable(),
  contextWindow: z.int().min(1),
  caching: z.enum(['none', 'explicit', 'automatic']),
  showcase: z.boolean(),
  status: z.enum(['active', 'deprecated', 'retired']),
  retiresAt: instantField.nullable(),
  replacement: z.string().nullable(),
};

/** Values of `anthropic-beta` that pass for a model; others change nothing that the gateway knows of. */
const betasField = z.strictObject({
  /** Whether the shipped list passes (contracts/betas.ts), whose betas change neither window nor price. */
  shipped: z.boolean(),
  listed: z.array(
    z.strictObject({
      name: betaNameField,
      /** The model's window with this beta; null where it does not change it. */
      contextWindow: z.int().min(1).nullable(),
      /** What a request with this beta is billed by; null where that is the model's own card. */
      rateCard: rateCardField.nullable(),
    }),
  ),
});
export type ModelBetas = z.infer<typeof betasField>;

/** A model as `CatalogPublished` carries it. */
export const catalogModelField = z.strictObject({
  ...shownModel,
  displayName: text,
  lanes: z.array(z.enum(['standard', 'fast'])),
  /** Free models cost nothing and need no credits; all others have prices above zero. */
  free: z.boolean(),
  upstreams: z.array(upstream),
  rateCard: rateCardField,
  betas: betasField,
  /** Whether it takes messages with role `system` between the others, as newer coding agents send them. */
  systemRole: z.boolean(),
});
export type CatalogModel = z.infer<typeof catalogModelField>;

/** Micro-USD; a fault in words where the text is no price, or one that nobody means. */
function priceIn(text: string, unit: string, example: string, usdMax: number): MicroUsd | { readonly fault: string } {
  const price = parseUsd(text);
  if (price === null) return { fault: `expected USD ${unit} as a string such as "${example}"` };
  return price <= BigInt(usdMax) * MICRO_PER_USD ? price : { fault: `must be at most ${usdMax} USD ${unit}` };
}

const usdPerMTok = z.codec(
  z.string(),
  z.custom<MicroUsd>((value) => typeof value === 'bigint'),
  {
    decode: (text, context) => {
      const price = priceIn(text, 'per million tokens', '3.00', LIMITS.usdPerMTokMax);
      if (typeof price === 'bigint') return price;
      context.issues.push({ code: 'custom', input: text, message: price.fault });
      return z.NEVER;
    },
    encode: (price) => price.toString(),
  },
);

/** USD a use, as a string. "0" says that a use is free; a use that stands nowhere is not. */
const usdPerUse = z.string().transform((text, context) => {
  const price = priceIn(text, 'a use', '0.01', LIMITS.usdPerUseMax);
  if (typeof price === 'bigint') return rate(price * PICO_PER_MICRO);
  context.addIssue({ code: 'custom', message: price.fault });
  return z.NEVER;
});

const pricesOfUses = z
  .record(useNameField, usdPerUse)
  .refine((uses) => Object.keys(uses).length <= LIMITS.pricedUsesMax, `at most ${LIMITS.pricedUsesMax} names`)
  .superRefine((uses, context) => {
    for (const name of Object.keys(uses)) {
      const meant = nearName(name, KNOWN_USES);
      if (meant !== null)
        context.addIssue({ code: 'custom', path: [name], message: `no tool is billed by it; is "${meant}" meant?` });
    }
  });

const contextWindow = z.int().min(1).max(LIMITS.contextWindowMax);

const tokenPrices = { input: usdPerMTok, output: usdPerMTok };
/** What all requests with a beta cost. A price that sets in above a number of tokens cannot be said, so that it is not billed wrong. */
const fileBeta = z.strictObject({
  name: betaNameField,
  /** At least the model's own. */
  context_window: contextWindow.optional(),
  price: z.strictObject(tokenPrices).optional(),
});

const date = z.iso.date().transform((text) => `${text}T00:00:00.000Z`);

const fileModel = z
  .strictObject({
    id: shownModel.id,
    display_name: text,
    family: shownModel.family,
    label: text,
    group: text,
    note: text.optional(),
    context_window: contextWindow,
    caching: shownModel.caching.default('none'),
    showcase: z.boolean().default(false),
    status: shownModel.status.default('active'),
    /** YYYY-MM-DD, the first moment (UTC) at which calls fail. */
    retires_at: date.optional(),
    replacement: text.optional(),
    lanes: boundedList(z.enum(['standard', 'fast']), { min: 1 }).default(['standard']),
    free: z.boolean().default(false),
    /** USD per million tokens, as strings, for money is never a float. Cache rates follow from the input price. */
    price: z
      .strictObject({
        ...tokenPrices,
        /** USD a use by its name in an answer's `usage.server_tool_use`: `{ web_search_requests: "0.01" }`. */
        uses: pricesOfUses.default({}),
      })
      .optional(),
    /** The word `shipped` stands for the shipped list; a name alone is a beta that changes neither window nor price. */
    betas: z.array(z.union([betaNameField, fileBeta])).default([SHIPPED]),
    system_role: z.boolean().default(false),
    upstreams: boundedList(upstream, { max: LIMITS.upstreamAttemptsMax }).default([]),
  })
  .transform((model, context) => {
    const fault = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    const ended = model.status !== 'active';
    if (ended && model.replacement === undefined) fault('replacement', `required on a ${model.status} model`);
    if (ended && model.retires_at === undefined) fault('retires_at', `required on a ${model.status} model`);
    if (!ended && model.retires_at !== undefined) fault('retires_at', 'only on a deprecated or retired model');
    if (model.status !== 'retired' && model.upstreams.length === 0) fault('upstreams', 'expected at least one');
    if (!model.lanes.includes('standard')) fault('lanes', 'must include "standard"');
    const rates = ratesOf(model, fault);
    const betas = betasOf(model, fault);
    return rates === null ? z.NEVER : { ...model, rates, uses: usesOf(model), betas };
  });

type Fault = (path: string, message: string) => void;

const usesOf = ({ price }: { price?: { uses: UseRates } | undefined }): UseRates => price?.uses ?? {};

interface FileBetas {
  readonly free: boolean;
  readonly context_window: number;
  readonly betas: readonly (string | z.infer<typeof fileBeta>)[];
}

/** A beta opens more of a model, never less: a window below the model's own would hold less than a request can cost. */
function betasOf({ free, context_window: least, betas }: FileBetas, fault: Fault) {
  const listed = betas
    .filter((beta) => beta !== SHIPPED)
    .map((beta) => (typeof beta === 'string' ? { name: beta } : beta))
    .map(({ name, context_window = null, price }) => {
      if (context_window !== null && context_window < least)
        fault('betas', `${name}: context_window: must be at least the model's, ${least}`);
      if (price !== undefined && free) fault('betas', `${name}: a free model has no price`);
      const rates = price === undefined ? null : ratesOf({ free, price }, (_path, message) => fault('betas', message));
      return { name, contextWindow: context_window, rates };
    });
  const names = listed.map(({ name }) => name);
  for (const name of names)
    if (name === SHIPPED)
      fault('betas', `"${SHIPPED}" is no beta but the word for the shipped list, which stands alone: - ${SHIPPED}`);
    else if (nearName(name, [SHIPPED]) !== null)
      fault('betas', `"${name}" is no beta; is the word "${SHIPPED}" meant?`);
  for (const name of new Set(names.filter((name, at) => names.indexOf(name) !== at)))
    fault('betas', `"${name}" is listed twice`);
  return { shipped: betas.includes(SHIPPED), listed };
}

function ratesOf(
  model: { free: boolean; price?: { input: MicroUsd; output: MicroUsd } | undefined },
  fault: Fault,
): Rates | null {
  if (model.free) {
    if (model.price !== undefined) fault('price', 'a free model has none');
    return ratesFrom(rate(0n), rate(0n));
  }
  if (model.price === undefined) {
    fault('price', 'required: a model without a price is never free by default; say "free: true" to mean it');
    return null;
  }
  if (model.price.input === 0n || model.price.output === 0n)
    fault('price', 'must be more than 0; say "free: true" to mean it');
  const rates = ratesFrom(rate(model.price.input), rate(model.price.output));
  if (rates === null)
    fault('price', 'input: must be a multiple of 0.00002 USD, so that 10% and 125% of it are whole micro-USD');
  return rates;
}

/** The catalog file that `gateway catalog publish` reads (YAML or JSON). */
export const catalogFileSchema = z
  .strictObject({
    models: boundedList(fileModel, { min: 1, max: LIMITS.catalogModelsMax }),
    plans: boundedList(filePlan, { max: LIMITS.catalogPlansMax }).default([]),
  })
  .superRefine((file, context) => {
    const ids = listedOnce(file, 'models', context);
    listedOnce(file, 'plans', context);
    for (const [index, { models = [] }] of file.plans.entries())
      for (const [at, id] of models.entries())
        if (!ids.has(id))
          context.addIssue({
            code: 'custom',
            path: ['plans', index, 'models', at],
            message: `"${id}" is no model of this catalog`,
          });
    for (const [index, { id, replacement }] of file.models.entries())
      if (replacement !== undefined && (replacement === id || !ids.has(replacement)))
        context.addIssue({
          code: 'custom',
          path: ['models', index, 'replacement'],
          message: `"${replacement}" is not another model of this catalog`,
        });
  });
export type CatalogFile = z.infer<typeof catalogFileSchema>;
export type CatalogFileModel = CatalogFile['models'][number];

function listedOnce<Name extends string>(
  file: Readonly<Record<Name, readonly { readonly id: string }[]>>,
  name: Name,
  context: z.RefinementCtx,
): Set<string> {
  const ids = new Set<string>();
  for (const [index, { id }] of file[name].entries()) {
    if (ids.has(id))
      context.addIssue({ code: 'custom', path: [name, index, 'id'], message: `"${id}" is listed twice` });
    ids.add(id);
  }
  return ids;
}
