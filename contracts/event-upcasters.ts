import { isDeepStrictEqual } from 'node:util';
import type { EventType } from './events.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { USUAL_THRESHOLDS } from './limit-events.ts';

/** An event's stored JSON, before its schema has looked at it. */
type StoredData = JsonObject;
type Upcaster = (data: StoredData) => StoredData;
/** Null where the older form cannot say it. What it gives becomes by `up` exactly what it was. */
type Downcaster = (data: StoredData) => StoredData | null;
/** From one version to the next, and back. */
interface TwoWayStep {
  readonly up: Upcaster;
  readonly down: Downcaster;
}
/** The steps of before there was a way down (those to BASE_FORMS, event-forms.ts) are their way up alone. */
type FormStep = Upcaster | TwoWayStep;
export type FormSteps = { readonly [T in EventType]?: readonly FormStep[] };

/** Before, no credits that were there, or that came back, paid what is owed otherwise. */
const WITH_SET_OFF: TwoWayStep = {
  up: (data) => ({ ...data, setOff: [] }),
  down: ({ setOff, ...data }) => (isDeepStrictEqual(setOff, []) ? data : null),
};

/** Before, who wrote it down by hand was not asked why. */
const WITH_REASON: TwoWayStep = {
  up: (data) => ({ ...data, reason: null }),
  down: ({ reason, ...data }) => (reason === null ? data : null),
};

/** Before, a dispute ended once. */
const WITH_REPLACES: TwoWayStep = {
  up: (data) => ({ ...data, replaces: null }),
  down: ({ replaces, ...data }) => (replaces === null ? data : null),
};

/** Before, it was not said whether its provider has ended it, or an operator. */
const WITH_ENDED_BY: TwoWayStep = {
  up: (data) => ({ ...data, endedBy: null }),
  down: ({ endedBy, ...data }) => (endedBy === null ? data : null),
};

/** Before, a decline was one of the payment method with which its attempt was begun. */
const WITH_DECLINED_METHOD: TwoWayStep = {
  up: (data) => data,
  down: (data) => (data.declinedMethodId === undefined ? data : null),
};

/**
 * How the stored forms of before become today's: for each type the steps from version 1 to 2, from 2 to 3, and so on.
 * A step is only ever added, together with the change of the type's schema, and with its way down: while a program that
 * does not read the new form serves the same ledger, the older one is written (ledger/forms/). A step never looks anything
 * up: what an older form did not say is said to be unknown.
 */
export const FORM_STEPS: FormSteps = {
  ...{ GrantRevoked: [WITH_SET_OFF], GrantRestored: [WITH_SET_OFF] },
  ...{ DebitReversed: [WITH_SET_OFF], BalanceAdjusted: [WITH_SET_OFF] },
  ...{ PaymentRefunded: [WITH_REASON], PaymentDisputed: [WITH_REASON], DisputeClosed: [WITH_REASON, WITH_REPLACES] },
  ...{ PaymentFailed: [WITH_DECLINED_METHOD], PaymentAbandoned: [WITH_ENDED_BY] },
  AccountOpened: [
    {
      up: (data) => ({ ...data, product: 'gateway' }),
      down: ({ product, ...data }) => (product === 'gateway' ? data : null),
    },
  ],
  ApiKeyIssued: [
    { up: (data) => ({ ...data, member: null }), down: ({ member, ...data }) => (member === null ? data : null) },
  ],
  PlanChanged: [
    { up: (data) => ({ ...data, terms: null }), down: ({ terms, ...data }) => (terms === null ? data : null) },
  ],
  UsageRecorded: [(data) => ({ ...data, hold: null, uses: {}, unpriced: [] })],
  CreditsLeased: [(data) => ({ ...data, epoch: 0 }), (data) => ({ ...data, requestsFrom: null, requestsBefore: null })],
  CreditsDebited: [(data) => ({ ...data, leftOut: '0', uses: [] })],
  CatalogPublished: [
    (data) => ({ ...data, models: eachOf(data.models, withoutBetasAndUses) }),
    (data) => ({ ...data, models: eachOf(data.models, (model) => ({ ...model, systemRole: false })) }),
    {
      up: (data) => ({ ...data, plans: [] }),
      down: ({ plans, ...data }) => (isDeepStrictEqual(plans, []) ? data : null),
    },
  ],
  SpendLimitSet: [
    {
      up: (data) => ({ ...data, member: null, mode: 'hard', thresholdsPercent: USUAL_THRESHOLDS }),
      down: ({ member, mode, thresholdsPercent, ...data }) =>
        member === null && mode === 'hard' && isDeepStrictEqual(thresholdsPercent, USUAL_THRESHOLDS) ? data : null,
    },
  ],
  SpendThresholdCrossed: [
    { up: (data) => ({ ...data, member: null }), down: ({ member, ...data }) => (member === null ? data : null) },
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

/** The newest schema version of a type: in which its events are written once the ledger has adopted it. */
export const versionOf = (type: EventType): number => 1 + (FORM_STEPS[type]?.length ?? 0);

/** The stored data of a version in the form of today; what is no object is left for the schema to refuse. */
export function upcast(type: EventType, version: number, data: unknown, all: FormSteps = FORM_STEPS): unknown {
  const steps = all[type]?.slice(version - 1) ?? [];
  if (steps.length === 0 || !isObject(data)) return data;
  return steps.reduce((form, step) => upOf(step)(form), data);
}

/** Today's stored data in an older version's form; null where no step leads down, or another thing would be read. */
export function downcast(
  type: EventType,
  version: number,
  data: StoredData,
  all: FormSteps = FORM_STEPS,
): StoredData | null {
  if (version < 1) return null;
  let form: StoredData | null = data;
  for (const step of all[type]?.slice(version - 1).toReversed() ?? []) {
    if (form === null || typeof step === 'function') return null;
    form = step.down(form);
  }
  return form !== null && isDeepStrictEqual(upcast(type, version, form, all), data) ? form : null;
}

const upOf = (step: FormStep): Upcaster => (typeof step === 'function' ? step : step.up);
