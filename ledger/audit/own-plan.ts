/** A plan as it was published. */
export interface OwnListedPlan {
  readonly id: string;
  readonly product: string;
  readonly price: string;
  readonly credits: string;
  readonly overdraft: string;
  readonly graceDays: number;
}

/** What an account has of a plan, as the auditor counts it; instants as they are written. */
export interface OwnPlanState {
  plan: string;
  /** Of the catalog by which its period is. */
  version: number;
  readonly anchorAt: string;
  /** '' before anything is. */
  paidUntil: string;
  /** When the period that is paid begins; '' where that cost nothing, too. */
  paidFrom: string;
  /** Which plan that was begun for, whichever dearer one is there by now. */
  paidFor: string;
  /** When its period begins, whatever that cost; '' before any has. */
  since: string;
  /** The dearer plans that were there within it. */
  dearer: string[];
  overdraft: bigint;
  /** The dearer plan that was asked for last; '' where something else was since, or it is paid. */
  upgrade: string;
  /** The period that is to be paid, as far as that was begun. */
  due: OwnDuePeriod | null;
  /** What was asked for later; '' is the end. A dearer plan that was asked for after it is instead of it once that is paid. */
  wanted: { readonly plan: string; readonly from: string } | null;
}

/** One that is to be paid, and its newest attempt. */
interface OwnDuePeriod {
  readonly from: string;
  /** As the newest attempt has it. */
  readonly plan: string;
  readonly graceUntil: string;
  /** When the first attempt of each plan was begun. */
  readonly begins: ReadonlyMap<string, string>;
  readonly attempts: number;
  /** Those of them that were declined, or ended by an operator. */
  readonly noes: string[];
  readonly attemptId: string;
  readonly provider: string;
  isDeclined: boolean;
}

/** What an attempt pays for. */
export interface OwnPaidPeriod {
  readonly plan: string;
  readonly version: number;
  readonly from: string;
  readonly until: string;
  readonly overdraft: bigint;
}

/** Null where the catalog of that version has none. */
export type PlanOf = (version: number, id: string) => OwnListedPlan | null;

/** Whether what an attempt pays for is still what the account has to pay: not where another plan was asked for since, nor an upgrade once the period after it is begun. */
export const isOfPlan = (own: OwnPlanState, kind: string, { plan, from, until }: OwnPaidPeriod): boolean =>
  kind === 'renewal'
    ? own.due?.from === from && wantedFrom(own, from) === plan
    : own.due === null && own.paidUntil === until && own.upgrade === plan;

/** The plan that a period is to be of; '' is none. */
export const wantedFrom = ({ plan, wanted }: OwnPlanState, from: string): string =>
  wanted !== null && wanted.from <= from ? wanted.plan : plan;

/** It is paid, and so in force. */
export function takePeriod(own: OwnPlanState, kind: string, period: OwnPaidPeriod): void {
  const { plan, version, from, until, overdraft } = period;
  Object.assign(own, { plan, version, overdraft, upgrade: '' });
  if (kind !== 'renewal') {
    own.wanted = null;
    own.dearer.push(plan);
    return;
  }
  if (own.wanted !== null && own.due !== null && own.wanted.from <= own.due.from) own.wanted = null;
  Object.assign(own, { paidFrom: from, paidFor: plan, since: from, dearer: [], paidUntil: until, due: null });
}

/** The period that begins in the month of an instant, by the day and time of the first. */
export const beginsIn = (anchorAt: string, instant: string): string => {
  const month = instant.slice(0, 7);
  const day = Math.min(Number(anchorAt.slice(8, 10)), daysIn(month));
  return `${month}-${String(day).padStart(2, '0')}${anchorAt.slice(10)}`;
};

export function monthsAfter(instant: string, months: number): string {
  const count = Number(instant.slice(0, 4)) * 12 + Number(instant.slice(5, 7)) - 1 + months;
  return `${String(Math.floor(count / 12)).padStart(4, '0')}-${String((count % 12) + 1).padStart(2, '0')}`;
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysIn(month: string): number {
  const [year = 0, number = 0] = month.split('-').map(Number);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return number === 2 && isLeap ? 29 : (DAYS[number - 1] ?? 0);
}
