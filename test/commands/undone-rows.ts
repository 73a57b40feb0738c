import { requestOf } from '../fixtures/ledger/example-account.ts';

type Path = readonly string[];

/** Lines of the program, of which the account is acct_ada; in them KEY is the key that it has, NEW the newest, FILE-1 and FILE-2 are catalogs. */
export interface Undone {
  /** Before what is undone. */
  readonly first?: readonly string[];
  /** A command of the table, and how the commands of its row undo it. */
  readonly does: string;
  readonly undo: readonly string[];
  /** What alone is as before; all that is seen otherwise, */
  readonly only?: Path;
  /** but for traces and times. */
  readonly but?: readonly Path[];
}

/** A line: what happens by itself, credits that are written down as expired, by a clock that is wrong. */
export const EXPIRES = 'expires';
export const BEN = 'ben@example.com';
/** It has debited 0.000020 USD, and 0.000050 USD are an exception. */
export const REQUEST = requestOf(1);

const X = '--reason x';
const PURCHASE = 'credits purchase acct_ada --usd 20 --id p1';
const CONFIRM = 'payment confirm acct_ada --payment wire-1';
const OF_WIRE = `acct_ada wire-1 ${X}`;
const DISPUTE = `payment dispute ${OF_WIRE} --usd 20 --id d1`;
const CLOSE = `payment close-dispute ${OF_WIRE} --id d1 --outcome`;
const SAVE = 'payment save-method acct_ada --id m1 --brand sepa --last4 3000';
const RELOAD = 'credits auto-reload acct_ada --threshold-usd 5 --monthly-cap-usd 90 --consent --target-usd';
const REVOKE = `credits revoke acct_ada ${X} --grant`;

const MONEY: Path = ['money'];
/** Of what comes back to other credits than it was taken from. */
const BALANCE: Path = ['money', 'balance'];
const ATTEMPTS: Path = ['account', 'billing', 'payments', 'attempts'];
const KEYS: Path = ['account', 'keys'];

/** Of each row of the table (undo-table.ts), some in several ways. */
export const UNDONE: readonly Undone[] = [
  { does: `account suspend acct_ada ${X}`, undo: [`account reinstate acct_ada ${X}`] },
  {
    first: [`account suspend acct_ada ${X}`],
    ...{ does: `account reinstate acct_ada ${X}`, undo: [`account suspend acct_ada ${X}`] },
  },
  {
    ...{ does: 'account plan acct_ada starter', undo: ['account plan acct_ada none'] },
    but: [ATTEMPTS, ['account', 'billing', 'endedPlan'], ['account', 'billing', 'planEnds']],
  },
  ...['none', 'small', 'team'].map((plan) => ({
    first: ['account plan acct_ada starter', CONFIRM],
    ...{ does: `account plan acct_ada ${plan}`, undo: ['account plan acct_ada starter'] },
    but: plan === 'team' ? [ATTEMPTS] : [],
  })),
  { does: 'credits grant acct_ada --usd 5 --id g1', undo: [`${REVOKE} g1`], only: MONEY },
  { does: PURCHASE, undo: [`payment decline acct_ada p1 ${X}`], but: [ATTEMPTS] },
  {
    first: [PURCHASE],
    ...{ does: `payment decline acct_ada p1 ${X}`, undo: ['credits purchase acct_ada --usd 20 --id p2'] },
    but: [ATTEMPTS],
  },
  { first: [PURCHASE], does: CONFIRM, undo: [`payment refund ${OF_WIRE} --usd 20 --id r1`], only: MONEY },
  { does: SAVE, undo: ['payment remove-method acct_ada'] },
  {
    ...{ first: [SAVE], does: 'payment remove-method acct_ada', undo: [SAVE] },
    but: [['account', 'billing', 'payments', 'method', 'consentedAtMs']],
  },
  {
    ...{ first: [SAVE, `${RELOAD} 20`], does: `${RELOAD} 40`, undo: [`${RELOAD} 20`] },
    but: [['account', 'billing', 'payments', 'reload', 'consentedAtMs']],
  },
  {
    ...{ first: [PURCHASE, CONFIRM], does: `payment refund ${OF_WIRE} --usd 5 --id r1` },
    ...{ undo: [`payment withdraw-refund ${OF_WIRE} --id r1`], only: MONEY },
  },
  {
    first: [PURCHASE, CONFIRM, `payment refund ${OF_WIRE} --usd 5 --id r1`],
    does: `payment withdraw-refund ${OF_WIRE} --id r1`,
    ...{ undo: [`payment refund ${OF_WIRE} --usd 5 --id r2`], only: MONEY },
  },
  { first: [PURCHASE, CONFIRM], does: DISPUTE, undo: [`${CLOSE} won`], only: MONEY },
  ...['won', 'lost'].map((outcome) => ({
    first: [PURCHASE, CONFIRM, DISPUTE, `${CLOSE} ${outcome}`],
    ...{ does: `${CLOSE} ${outcome === 'won' ? 'lost' : 'won'}`, undo: [`${CLOSE} ${outcome}`], only: MONEY },
  })),
  {
    first: ['credits grant acct_ada --usd 5 --id g1 --expires 2026-12-01', EXPIRES],
    ...{ does: `credits reinstate acct_ada --grant g1 ${X}`, undo: [`${REVOKE} g1`], only: MONEY },
  },
  {
    does: `${REVOKE} gift --usd 5 --id v1`,
    ...{ undo: [`credits restore acct_ada --revocation v1 ${X}`], only: MONEY },
  },
  {
    first: [`${REVOKE} gift --usd 5 --id v1`],
    does: `credits restore acct_ada --revocation v1 ${X}`,
    ...{ undo: [`${REVOKE} gift --usd 5 --id v2`], only: MONEY },
  },
  { does: `debit reverse ${REQUEST} ${X}`, undo: [`balance adjust acct_ada --down 0.00002 ${X}`], only: BALANCE },
  ...[
    ['--up', '--down'],
    ['--down', '--up'],
  ].map(([way, other]) => ({
    ...{ does: `balance adjust acct_ada ${way} 5 ${X}`, undo: [`balance adjust acct_ada ${other} 5 ${X}`] },
    only: BALANCE,
  })),
  {
    does: `exception approve ${REQUEST} ${X}`,
    ...{ undo: [`debit reverse ${REQUEST} --usd 0.00005 ${X}`], only: MONEY },
  },
  { does: 'member add acct_ada eve@example.com --role admin', undo: ['member remove acct_ada eve@example.com'] },
  { does: `member role acct_ada ${BEN} admin`, undo: [`member role acct_ada ${BEN} member`] },
  {
    does: `member remove acct_ada ${BEN}`,
    undo: [`member add acct_ada ${BEN}`, `key issue acct_ada --member ${BEN}`],
    but: [KEYS, ['account', 'organization', 'members', BEN, 'addedAtMs'], ['members', '1', 'since']],
  },
  { does: 'key issue acct_ada', undo: ['key revoke acct_ada NEW'], but: [KEYS] },
  {
    ...{ does: 'key revoke acct_ada KEY', undo: [`key issue acct_ada --member ${BEN} --monthly-limit-usd 7`] },
    but: [KEYS, ['account', 'limits'], ['account', 'spend', 'keyLimits']],
  },
  { does: 'limit set acct_ada --usd 9', undo: ['limit set acct_ada --none'] },
  {
    first: ['limit set acct_ada --usd 9'],
    does: 'limit set acct_ada --usd 5 --soft --lift-hard --thresholds 60,90',
    undo: ['limit set acct_ada --usd 9 --thresholds 50,80,100'],
  },
  { does: 'limit set acct_ada --key KEY --none', undo: ['limit set acct_ada --key KEY --usd 7'] },
  { does: `limit set acct_ada --member ${BEN} --usd 3`, undo: [`limit set acct_ada --member ${BEN} --none`] },
  { does: 'catalog publish FILE-2', undo: ['catalog publish FILE-1'] },
];

/**
 * Of these nothing is as before: an account that was opened stays, suspended and without credits; an exception is ended for good, and what
 * it was about is paid otherwise; a secret of before is known no more; and what a provider says it says again.
 */
export const NOT_AS_BEFORE: readonly string[] = ['account open', 'exception drop', 'key rotate', 'payment ask'];
