import { versionOf } from './event-upcasters.ts';
import { EVENT_SCHEMAS, type EventType } from './events.ts';
import { UnreadFormsError } from './unread-forms-error.ts';

/** Forms of events: for each type the newest schema version. A type that is not there is not read at all. */
export type Forms = Readonly<Record<string, number>>;

const OF_THE_FIRST_FORM = (
  'AccountOpened ApiKeyIssued ApiKeyRevoked PlanChanged CreditsGranted CreditsExpired CreditsReinstated ' +
  'LateUsageReported ExceptionApproved ExceptionDropped LeaseReleased LeaseNarrowed SpendLimitSet ' +
  'SpendThresholdCrossed AccountSuspended AccountReinstated RelayClaimed RelayCheckpointed RelayReleased ' +
  'ProxyClaimed LedgerIdentified'
).split(' ');

/**
 * What every program reads whose claim on its name says nothing of forms: those of before claims did, of the types that
 * are ever written. It never grows: what comes after it is written only once every live claim names it (ledger/forms/).
 */
export const BASE_FORMS: Forms = Object.freeze({
  ...Object.fromEntries(OF_THE_FIRST_FORM.map((type) => [type, 1])),
  UsageRecorded: 2,
  CreditsDebited: 2,
  CreditsLeased: 3,
  CatalogPublished: 3,
  LossAccepted: 2,
});

/**
 * Types of a stream that programs of before pass by unread, as they do all streams that are not of a category of theirs:
 * nobody has to read them before they are written, so nobody is asked.
 */
const PASSED_BY: ReadonlySet<string> = new Set<EventType>(['ProviderReconciled', 'LedgerSealed', 'SealKeyIntroduced']);

/**
 * With it a log ends, and where the ledger goes on it stands before the end of what was copied: a program that does not read it
 * must not go on there, so nobody is asked.
 */
const ENDING: ReadonlySet<string> = new Set<EventType>(['LedgerMoved']);

/** What this program reads, and writes once the ledger has adopted it. */
export const OWN_FORMS: Forms = Object.freeze(
  Object.fromEntries(
    Object.keys(EVENT_SCHEMAS)
      .filter((type) => !PASSED_BY.has(type) && !ENDING.has(type))
      .map((type) => [type, versionOf(type as EventType)]),
  ),
);

/** Those of `forms` that `than` does not have. */
export const formsBeyond = (forms: Forms, than: Forms): Forms =>
  Object.fromEntries(Object.entries(forms).filter(([type, version]) => version > versionIn(than, type)));

/** 0 for a type that is not there. */
export const versionIn = (forms: Forms, type: string): number => (Object.hasOwn(forms, type) ? (forms[type] ?? 0) : 0);

/** Of each type the newest version that either has. */
export function formsTogether(one: Forms, other: Forms): Forms {
  return { ...one, ...formsBeyond(other, one) };
}

/** For people: `CreditsDebited 3, FormsAdopted 1`. */
export const describeForms = (forms: Forms): string =>
  Object.entries(forms)
    .map(([type, version]) => `${type} ${version}`)
    .join(', ');

/** @throws UnreadFormsError where `own` lacks something of what the ledger has adopted */
export function assertFormsRead(adopted: Forms, own: Forms): void {
  const unread = formsBeyond(adopted, own);
  const named = Object.entries(unread).map(([type, version]) => {
    const read = versionIn(own, type);
    return `${type} ${version} (this program ${read === 0 ? 'does not read the type' : `reads ${read}`})`;
  });
  if (named.length > 0) throw new UnreadFormsError(named);
}
