import { randomBytes } from 'node:crypto';
import type { EventLog } from '../../contracts/event-log.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, type AttemptId, attemptId } from '../../contracts/ids.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import type { AccountRepository } from '../account/account-repository.ts';
import type { OpenAccount } from '../account/account-state.ts';
import { type AccountCommand, isRefusedForNow } from '../account/commands.ts';
import type { CreditsMoved } from '../account/credits-moved.ts';
import { type CommandResult, executeOnRepository, type WhyNot } from '../account/execute-command.ts';
import { claimsIn, openAttempts } from '../account/payments.ts';
import type { PaymentAttempt } from '../account/payments-state.ts';
import type { KnownPlans } from '../catalog/known-plans.ts';
import { recordingBy } from '../recording-by.ts';
import { TIMING, type Timing } from '../timing.ts';
import { askOfAttempt, factsOfOutcome, takerOf } from './ask-of-attempt.ts';
import type { PaymentOutcome, PaymentProvider } from './payment-provider.ts';
import { RefusedFactsError, recordTold } from './record-facts.ts';

interface PursuedPayments {
  readonly log: EventLog;
  readonly accounts: AccountRepository;
  readonly provider: PaymentProvider;
  /** What plans cost and give. */
  readonly catalog: () => KnownPlans;
  readonly clock: () => number;
  /** Absent: nothing stands against what is decided. */
  readonly whyNot?: WhyNot;
  /** False is after an event: then the provider is asked of what is begun here alone. */
  readonly asksOpen: boolean;
  /** What could not all be told, or written, is asked of again; of what was refused (RefusedFactsError) the rest is written, and it is asked of again while it is open alone. */
  readonly onUnknown: (error: unknown, attemptId: AttemptId) => void;
  /** An attempt that the provider does not make, as things are: another is begun later. */
  readonly onRefused: (attempt: PaymentAttempt, reason: string) => void;
  /** What became of credits as the money of their payment had gone back, or is disputed. */
  readonly onMoved: (moved: CreditsMoved) => void;
  /** What was found to be paid, and could not all be written: what went back of it is asked of again, though its attempt is open no more. Absent: it is not. */
  readonly unwritten?: UnwrittenPayments;
  readonly timing?: Timing;
}

/** By attempt. */
export type UnwrittenPayments = Map<AttemptId, Told>;

interface Told {
  readonly attemptId: AttemptId;
  readonly taker: PaymentProvider;
  readonly outcome: PaymentOutcome;
}

/** As it stands in events. */
const ACTOR = 'payments';

/**
 * Begins an auto-reload, or the payment of a plan's period, where it is time, asks the provider what became of what is open, and writes that down; what nobody wants any more it ends. It may be ended at
 * any instant, and done by several at once: the claim stands in the log before the provider is asked, who is asked under the
 * attempt's own key, and what it says counts once. @throws as `executeOnRepository`
 */
export async function pursuePayments(accountId: AccountId, pursued: PursuedPayments): Promise<void> {
  const { accounts, provider, clock, asksOpen, unwritten, onUnknown, onRefused } = pursued;
  const openBefore = new Set(openOf(accounts, accountId).map((attempt) => attempt.attemptId));
  const id = attemptId(`reload_${randomBytes(8).toString('hex')}`);
  const begun = claimsIn([
    ...(await renew(accountId, pursued)),
    ...(await run(accountId, pursued, {
      ...{ type: 'StartAutoReload', attemptId: id, provider: provider.name, nowMs: clock() },
    })),
  ]);
  for (const told of asksOpen ? [...(unwritten?.values() ?? [])] : [])
    if (!openBefore.has(told.attemptId))
      await record(accountId, pursued, told).catch((error: unknown) => onUnknown(error, told.attemptId));
  const stateNow = () => stateOf(accounts, accountId);
  for (const { attemptId } of openOf(accounts, accountId)) {
    // Each question takes its time, in which another may be decided, or wanted no more.
    const attempt = openOf(accounts, accountId).find((one) => one.attemptId === attemptId);
    const taker = attempt === undefined ? null : takerOf(attempt, provider);
    if (attempt === undefined || taker === null || !(asksOpen || !openBefore.has(attemptId))) continue;
    try {
      const isFirst = begun.has(attemptId);
      const outcome = await askOfAttempt(taker, accountId, { stateNow, attempt, isFirst });
      await record(accountId, pursued, { attemptId, taker, outcome });
      if (outcome.type === 'refused') onRefused(attempt, outcome.reason);
    } catch (error) {
      onUnknown(error, attemptId);
    }
  }
}

/** Writes down what a provider has told. @throws Error where it cannot be, or not yet; RefusedFactsError of what is refused, once the rest is written */
async function record(accountId: AccountId, pursued: PursuedPayments, told: Told): Promise<void> {
  const { accounts, clock, onMoved, unwritten } = pursued;
  const { attemptId, taker, outcome } = told;
  const ask = () => factsOfOutcome(taker, accountId, told);
  if (outcome.type === 'paid') unwritten?.set(attemptId, told);
  const refusals = await recordTold(await ask(), {
    ...{ provider: taker.name, actor: ACTOR, nowMs: clock(), ask, tell: onMoved },
    run: (command) => execute(accountId, pursued, command),
    state: () => stateOf(accounts, accountId),
  });
  const reasons = refusals.map(({ message }) => message).join('; ');
  if (refusals.some(isRefusedForNow)) throw new Error(reasons);
  unwritten?.delete(attemptId);
  if (refusals.length > 0) throw new RefusedFactsError(reasons);
}

/** Begins the payment of a plan's period where it is time, or ends a plan. */
async function renew(accountId: AccountId, pursued: PursuedPayments): Promise<readonly AccountEvent[]> {
  const { accounts, provider, catalog, clock } = pursued;
  const { state } = accounts.read(accountId);
  if (state.type === 'unopened' || state.billing.plan === null) return [];
  const nowMs = clock();
  return run(accountId, pursued, { type: 'StartRenewal', provider: provider.name, catalog: catalog(), nowMs });
}

function openOf(accounts: AccountRepository, accountId: AccountId): PaymentAttempt[] {
  const { state } = accounts.read(accountId);
  return state.type === 'unopened' ? [] : openAttempts(state.billing.payments);
}

/** @throws Error where there is none, as of an account that had an attempt there is */
function stateOf(accounts: AccountRepository, accountId: AccountId): OpenAccount {
  const { state } = accounts.read(accountId);
  if (state.type === 'unopened') throw new Error(`${accountId} is not opened`);
  return state;
}

async function run(
  accountId: AccountId,
  pursued: PursuedPayments,
  command: AccountCommand,
): Promise<readonly AccountEvent[]> {
  const result = await execute(accountId, pursued, command);
  if (result.type === 'refused') throw new Error(`${command.type} was refused: ${result.message}`);
  return result.events;
}

const execute = (
  accountId: AccountId,
  { log, accounts, clock, timing = TIMING, whyNot }: PursuedPayments,
  command: AccountCommand,
): Promise<CommandResult> =>
  executeOnRepository(log, accounts, accountId, command, SYSTEM, recordingBy(ACTOR, clock()), {
    timing,
    whyNot,
  });
