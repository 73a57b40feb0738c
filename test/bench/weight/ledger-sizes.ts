/** Events of each account of a ledger that is weighed. */
const EVENTS_PER_ACCOUNT = 50;

export const accountsOf = (events: number): number => Math.ceil(events / EVENTS_PER_ACCOUNT);

/** By how much the smaller of two ledgers is so, that show whether time grows with the events. */
export const SMALLER_FOR_TIME = 10;
/** And of two that show whether memory does. */
export const SMALLER_FOR_MEMORY = 4;
