import type { EventType } from './events.ts';
import { isObject, type JsonObject } from './json-object.ts';

/** An event's stored JSON, before its schema has looked at it. */
export type StoredData = JsonObject;
type Upcaster = (data: StoredData) => StoredData;

/**
 * How the stored forms of before become today's: for each type the steps from version 1 to 2, from 2 to 3, and so on.
 * A step is only ever added, together with the change of the type's schema. A step never looks anything up: what an
 * older form did not say is said to be unknown.
 */
const UPCASTERS: { readonly [T in EventType]?: readonly Upcaster[] } = {
  UsageRecorded: [(data) => ({ ...data, hold: null, uses: {}, unpriced: [] })],
  CreditsLeased: [(data) => ({ ...data, epoch: 0 }), (data) => ({ ...data, requestsFrom: null, requestsBefore: null })],
  CreditsDebited: [(data) => ({ ...data, leftOut: '0', uses: [] })],
  CatalogPublished: [
    (data) => ({ ...data, models: eachOf(data.models, withoutBetasAndUses) }),
    (data) => ({ ...data, models: eachOf(data.models, (model) => ({ ...model, systemRole: false })) }),
  ],
  LossAccepted: [(data) => ({ ...data, lost: eachOf(data.lost, sharedAtMostUpTo), untold: null })],
};

/** `has` was the stream's end, or the revision before the one that was known: no more than that is shared. */
function sharedAtMostUpTo({ has, ...range }: StoredData): StoredData {
  return { ...range, sharedAtLeast: -1, sharedAtMost: has };
}

/** A catalog from before betas were an allow-list lets the shipped ones pass, and has no prices a use. */
const withoutBetasAndUses: Upcaster = (model) => ({
  ...model,
  betas: { shipped: true, listed: [] },
  rateCard: isObject(model.rateCard) ? { ...model.rateCard, uses: {} } : model.rateCard,
});

const eachOf = (list: unknown, step: Upcaster): unknown =>
  Array.isArray(list) ? list.map((item: unknown) => (isObject(item) ? step(item) : item)) : list;

/** The schema version in which events of a type are written. */
export const versionOf = (type: EventType): number => 1 + (UPCASTERS[type]?.length ?? 0);

/** The stored data of a version in the form of today; what is no object is left for the schema to refuse. */
export function upcast(type: EventType, version: number, data: unknown): unknown {
  const steps = UPCASTERS[type]?.slice(version - 1) ?? [];
  if (steps.length === 0 || !isObject(data)) return data;
  return steps.reduce((form, step) => step(form), data);
}
