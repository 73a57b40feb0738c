import type { EventLog } from '../../../contracts/event-log.ts';
import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountId, Revision } from '../../../contracts/ids.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import type { Action } from '../../../contracts/permissions.ts';
import { isAsideReason } from '../../../ledger/account/account-repository.ts';
import type { AccountState, OpenAccount } from '../../../ledger/account/account-state.ts';
import { authorize, authorizeAction, decideAs, keysFor } from '../../../ledger/account/authorize.ts';
import { type AccountCommand, accountNotFound, type CommandRefusal } from '../../../ledger/account/commands.ts';
import { evolve } from '../../../ledger/account/evolve.ts';
import { type CommandResult, executeCommand } from '../../../ledger/account/execute-command.ts';
import { LastUses, type UsedKey } from '../../../ledger/account/last-uses.ts';
import { loadAccount, UNOPENED } from '../../../ledger/account/load-account.ts';
import { accountAsTold } from '../../../ledger/account/words-for-accounts.ts';
import { type PlanEnd, PlansHad } from '../../../ledger/statement/plans-had.ts';
import type { AccountInFile } from '../../../projections/account-in-file.ts';
import { actorOf, type CommandContext, CommandError, EXIT, readerOf, recordingOf } from '../command-context.ts';
import { unsettledBefore } from './unsettled-before.ts';

/** By which option each value of an account's command is given, wherever it is. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ['amount', '--usd'],
  ['up', '--up'],
  ['down', '--down'],
  ['price', '--price-usd'],
  ['expiresAt', '--expires'],
  ['id', '--id'],
  ['reason', '--reason'],
  ['payment', '--payment'],
  ['overlap', '--overlap'],
  ['thresholds', '--thresholds'],
  ['target', '--target-usd'],
  ['monthlyCap', '--monthly-cap-usd'],
]);

export type Done = Extract<CommandResult, { type: 'done' }>;

/** Also the time that the events were written with; null where there are none. */
type DoneAt = Done & { readonly recordedAt: string | null };

/** The account as a command has left it. */
export const accountAfter = ({ before, events }: Pick<Done, 'before' | 'events'>): AccountState =>
  events.reduce<AccountState>(evolve, before);

/** What it holds then, as the end of a sentence; nothing where nothing was written. */
export function sayBalanceAfter(done: Pick<Done, 'before' | 'events'>): string {
  const after = accountAfter(done);
  return done.events.length === 0 || after.type === 'unopened'
    ? ''
    : `; balance after it ${groupedUsd(after.balance)} USD`;
}

/** Carries out a command on an account; a refusal ends the program with its message. @throws CommandError */
export async function runAccountCommand(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
): Promise<DoneAt> {
  const result = await tryAccountCommand(context, log, accountId, command);
  if (result.type === 'refused') throw refusedAs(accountId, result);
  return result;
}

/** The same, and a refusal is returned. @throws CommandError */
export async function tryAccountCommand(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
): Promise<DoneAt | CommandRefusal> {
  const recording = recordingOf(context);
  const result = await hiddenFrom(context, accountId, () =>
    executeCommand(log, accountId, command, actorOf(context), recording, {
      whyNot: (_, events) => unsettledBefore(context, accountId, events),
    }),
  );
  if (result.type === 'refused') return result;
  return { ...result, recordedAt: result.events.length === 0 ? null : recording.recordedAt };
}

export interface Decided {
  readonly before: AccountState;
  readonly events: readonly AccountEvent[];
}

/** What the command would write now; writes nothing. @throws CommandError as it would */
export async function decideAccountCommand(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  command: AccountCommand,
): Promise<Decided> {
  const { state: before } = await hiddenFrom(context, accountId, () => loadAccount(log, accountId));
  const decision = decideAs(actorOf(context), command, before);
  if ('type' in decision) throw refusedAs(accountId, decision);
  return { before, events: decision };
}

interface ReadAccount {
  readonly state: OpenAccount;
  readonly revision: Revision;
  /** Those that the actor may see. */
  readonly keys: readonly UsedKey[];
  /** Of its plans, as `PlansHad` has them. */
  readonly planEnds: readonly PlanEnd[];
}

/** An account, for a reading or a change of it by whoever gives this command line, in the words that these may be told. @throws CommandError */
export async function readAccount(
  context: CommandContext,
  log: EventLog,
  accountId: AccountId,
  action: Action,
): Promise<ReadAccount> {
  const plans = new PlansHad();
  const reading = { known: null, seen: (event: AccountEvent) => plans.take(event) };
  const read = await readAccountFrom(context, log, { accountId, action, ...reading });
  return { ...read, planEnds: plans.ends };
}

interface Reading {
  readonly accountId: AccountId;
  readonly action: Action;
  /** What others have of its first events, which are not read then; null where all are. */
  readonly known: AccountInFile | null;
  /** Is given each that is read. */
  readonly seen?: (event: AccountEvent) => void;
}

/** The same without what all of its events tell. @throws as `readAccount` */
export async function readAccountFrom(
  context: CommandContext,
  log: EventLog,
  { accountId, action, known, seen = () => undefined }: Reading,
): Promise<Omit<ReadAccount, 'planEnds'>> {
  const { snapshot, lastUses } = known ?? { snapshot: UNOPENED, lastUses: new LastUses() };
  const take = (event: AccountEvent): void => {
    lastUses.take(event);
    seen(event);
  };
  const { state, revision } = await hiddenFrom(context, accountId, () => loadAccount(log, accountId, snapshot, take));
  assertMay(context, accountId, action, state);
  if (state.type === 'unopened') throw refusedAs(accountId, accountNotFound());
  return {
    state: accountAsTold(readerOf(context), state),
    revision,
    keys: keysFor(actorOf(context), state).map((key) => lastUses.of(key)),
  };
}

/** For a command of which not all is known yet, or a reading. @throws CommandError */
export const assertMay = (context: CommandContext, accountId: AccountId, action: Action, state: AccountState): void =>
  unlessRefused(accountId, authorizeAction(actorOf(context), action, state));

/** Before what is done elsewhere for a command, and cannot be undone by its refusal. @throws CommandError as carrying it out would */
export const assertMayDo = (
  context: CommandContext,
  accountId: AccountId,
  command: AccountCommand,
  state: AccountState,
): void => unlessRefused(accountId, authorize(actorOf(context), command, state));

function unlessRefused(accountId: AccountId, refusal: CommandRefusal | null): void {
  if (refusal !== null) throw refusedAs(accountId, refusal);
}

/** Whose account it is cannot be told where its events cannot be read: members are told nothing of it, not even why. */
async function hiddenFrom<T>(context: CommandContext, accountId: AccountId, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isAsideReason(error) && readerOf(context) !== 'operator') throw refusedAs(accountId, accountNotFound());
    throw error;
  }
}

/** Who has typed an option is told of the option, not of the value that was made of it. */
export function refusedAs(accountId: AccountId, { message }: CommandRefusal): CommandError {
  const told = message.replace(/^(\w+): /, (start, name: string) => {
    const option = OPTIONS.get(name);
    return option === undefined ? start : `${option}: `;
  });
  return new CommandError(`${accountId}: ${told}`, EXIT.refused);
}
