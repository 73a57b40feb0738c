/** The ledger's copy in a backup. */
export const LEDGER_COPY = 'ledger.db';
