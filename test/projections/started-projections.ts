import { expect, onTestFinished } from 'vitest';
import { accountId, CATALOG_STREAM, position } from '../../contracts/ids.ts';
import { AccountViews } from '../../projections/account-views.ts';
import { Projections } from '../../projections/projections.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { passing } from '../fixtures/ledger/turns.ts';
import { exampleLives, foldAll, viewsFile, writeLives } from './example-ledger.ts';

export const LIVES = exampleLives(4);
export const ALL = Math.max(...[...LIVES.values()].map((events) => events.length));
export const A = accountId('a0');

interface Started {
  readonly projections: Projections;
  readonly stopped: Error[];
  /** As often as one likes; the end of the test closes, too. */
  readonly close: () => Promise<void>;
}
export async function start(log: MemoryEventLog, path: string, persist = true): Promise<Started> {
  const stopped: Error[] = [];
  const projections = await passing(Projections.start({ log, path, persist }));
  projections.follow({ onStopped: (error) => stopped.push(error) });
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= projections.close();
    return passing(closing);
  };
  onTestFinished(close);
  return { projections, stopped, close };
}
/** One that has folded all that the log holds. */
export async function caughtUp(log: MemoryEventLog, path = viewsFile(), persist = true): Promise<Started> {
  const started = await start(log, path, persist);
  await passing(started.projections.whenCaughtUp());
  return started;
}
/** A file with everything that the log holds, written by views that have ended. */
export async function written(log: MemoryEventLog, path = viewsFile()): Promise<string> {
  await (await caughtUp(log, path)).close();
  return path;
}
/** An event of the catalog that no program can fold. */
export function writeUnknown(log: MemoryEventLog): void {
  const [template] = log.events;
  if (template === undefined) throw new Error('an empty log');
  log.write(CATALOG_STREAM, [{ ...template, type: 'CreditsConjured', data: '{}' }]);
}
export function logOf(from = 0, to = ALL): MemoryEventLog {
  const log = new MemoryEventLog();
  writeLives(log, LIVES, from, to);
  return log;
}
/** The row that says that everything in the log is folded. */
export function checkpointAt({ events }: MemoryEventLog): string {
  const last = events.at(-1);
  if (last === undefined) throw new Error('an empty log');
  const { position, stream, revision, id } = last;
  return `checkpoint ${JSON.stringify({ one: 1, feed: 'log', checkpoint: JSON.stringify({ position, stream, revision, id }) })}`;
}
export const head = (log: MemoryEventLog) => log.events.at(-1)?.position ?? position(-1);
export function expectWhole({ accounts }: Projections, lives: ReturnType<typeof exampleLives> = LIVES): void {
  const whole = new AccountViews();
  foldAll(whole, lives);
  for (const id of lives.keys()) {
    expect(accounts.read(id)).toEqual(whole.read(id));
    expect(new Set(accounts.monthly.linesOf(id, '2027-01'))).toEqual(new Set(whole.monthly.linesOf(id, '2027-01')));
    expect(accounts.spendLimits.ofAccount(id, '2027-01')).toEqual(whole.spendLimits.ofAccount(id, '2027-01'));
  }
}
