import { rmSync } from 'node:fs';
import type { Command } from 'commander';
import { EventLogError, type ReadableLog } from '../../../contracts/event-log.ts';
import { groupedCount as count, counted } from '../../../contracts/money.ts';
import { brief, onOneLine } from '../../../contracts/printable.ts';
import { discardedOnSignal } from '../../../ledger/discarded-on-signal.ts';
import { structureFaults } from '../../../ledger/event-log/sqlite/structure-faults.ts';
import { textOfArgument } from '../../../ledger/named-file.ts';
import { LeafFile, LeafFileWriter } from '../../../ledger/seals/leaf-file.ts';
import { keysOfFile, sealsOfFile } from '../../../ledger/seals/outside-files.ts';
import type { SealFault } from '../../../ledger/seals/seal-chain.ts';
import { type SealVerdict, verifySeals } from '../../../ledger/seals/verify-seals.ts';
import { pathArgument } from '../command-arguments.ts';
import { type CommandCall, CommandError, EXIT } from '../command-context.ts';
import { facts, show } from '../show.ts';
import { logWithProgress } from './log-with-progress.ts';
import { outInWords } from './out-in-words.ts';

export interface VerifySealsOptions {
  readonly seals?: true;
  readonly anchor?: string;
  readonly keys?: string;
  readonly leaves?: string;
  readonly keepLeaves?: string;
}

/** The options of `gateway ledger verify --seals`. */
export const addSealOptions = (verify: Command): Command =>
  verify
    .option('--seals', 'whether the ledger is as its seals say: nothing changed, taken out, put in, moved or cut')
    .option('--anchor <file>', 'seals that were kept outside the ledger: it has to have them', pathArgument)
    .option('--keys <file>', 'public keys from outside, as gateway ledger keys --json prints them', pathArgument)
    .option('--leaves <file>', 'leaf hashes that --keep-leaves has kept: by them the event is named', pathArgument)
    .option('--keep-leaves <file>', 'write the leaf hashes of what is sealed into a new file', pathArgument);

/** Whether seals are to be looked at, and them alone. @throws CommandError where the options do not go together */
export function asksForSeals(options: VerifySealsOptions, asksForMore: boolean): boolean {
  const { seals, ...others } = options;
  if (seals !== true && Object.keys(others).some((name) => SEAL_OPTIONS.has(name)))
    throw new CommandError('--anchor, --keys, --leaves and --keep-leaves go with --seals', EXIT.usage);
  if (seals === true && asksForMore)
    throw new CommandError('--seals looks at the whole ledger: name no accounts, and leave --all out', EXIT.usage);
  return seals === true;
}

const SEAL_OPTIONS: ReadonlySet<string> = new Set(['anchor', 'keys', 'leaves', 'keepLeaves']);

/**
 * `gateway ledger verify --seals`: whether the ledger is as it was sealed.
 *
 * @param file the embedded log's own; seals say nothing of what leads to its events by their streams
 * @throws CommandError where it is not
 */
export async function verifySealsOf(
  log: ReadableLog,
  file: string | null,
  options: VerifySealsOptions,
  { context, command }: CommandCall,
): Promise<void> {
  const structure = file === null ? [] : structureFaults(file).map((problem) => `its file: ${problem}`);
  const found = await verify(logWithProgress(log, context), options).catch((error: unknown) => {
    if (structure.length === 0 || !(error instanceof EventLogError)) throw error;
    throw new CommandError(`${structure.join('; ')}; ${error.message}`, EXIT.faults);
  });
  const verdict: SealVerdict =
    structure.length === 0
      ? found
      : {
          ...found,
          verdict: 'damaged',
          faults: [
            ...structure.map((problem) => ({ kind: 'file' as const, seal: null, range: null, problem })),
            ...found.faults,
          ],
        };
  show(context, command, { json: verdict, text: () => textOf(verdict) });
  const [first] = verdict.faults;
  if (first === undefined) return;
  const more = verdict.faults.length - 1 + verdict.furtherRanges;
  throw new CommandError(
    `the ledger is not as it was sealed: ${lineOf(first)}${more > 0 ? `; ${more} more` : ''}`,
    EXIT.faults,
  );
}

async function verify(log: ReadableLog, options: VerifySealsOptions): Promise<SealVerdict> {
  const keys = options.keys === undefined ? null : parsed(options.keys, keysOfFile);
  const anchors = options.anchor === undefined ? [] : opened(options.anchor, sealsOfFile);
  const leaves = options.leaves === undefined ? null : opened(options.leaves, (path) => new LeafFile(path));
  const kept = options.keepLeaves === undefined ? null : newLeafFile(options.keepLeaves);
  // What is kept of a part would name no event behind it, and be in the way of the next run.
  const discard = (): void => {
    if (options.keepLeaves !== undefined) rmSync(options.keepLeaves, { force: true });
  };
  try {
    const onLeaves = kept === null ? {} : { onLeaves: keeping(kept, options.keepLeaves ?? '') };
    const verdict = await discardedOnSignal(discard, () => verifySeals(log, { keys, anchors, leaves, ...onLeaves }));
    if (verdict.faults.length > 0) discard();
    return verdict;
  } catch (error) {
    discard();
    throw error;
  } finally {
    leaves?.close();
    kept?.close();
  }
}

/** @throws CommandError that says the way out */
function newLeafFile(path: string): LeafFileWriter {
  try {
    return new LeafFileWriter(path);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw outInWords(cause, path);
    const why = 'is there already (EEXIST), and leaf hashes that were kept are not replaced: name another file';
    throw new CommandError(`${path}: ${why}`, EXIT.usage);
  }
}

/** @throws CommandError that names the disk, where it takes nothing more */
const keeping =
  (kept: LeafFileWriter, path: string): LeafFileWriter['append'] =>
  (leaves) => {
    try {
      kept.append(leaves);
    } catch (cause) {
      throw outInWords(cause, path);
    }
  };

export const parsed = <T>(file: string, parse: (text: string) => T): T =>
  opened(file, () => parse(textOfArgument(file)));

/** @throws CommandError that names the file */
export function opened<T>(file: string, open: (path: string) => T): T {
  try {
    return open(file);
  } catch (error) {
    throw new CommandError(`${file}: ${error instanceof Error ? error.message : String(error)}`, EXIT.usage);
  }
}

function textOf({
  verdict,
  faults,
  furtherRanges,
  event,
  events,
  seals,
  newest,
  sealed,
  anchored,
  consistentOnly,
}: SealVerdict): string {
  const further =
    furtherRanges === 0 ? [] : [`not as they were sealed, beside these: ${counted(furtherRanges, 'range')}`];
  const found = event?.found ?? null;
  const place =
    found === null ? 'nothing' : brief(`${found.stream} revision ${found.revision}, ${found.type} ${found.id}`);
  const named = event === null ? [] : [`event ${count(event.ordinal)} (there is ${place}): ${event.problem}`];
  const upTo = ` up to event ${anchored - 1}; behind it consistent only: ${consistentOnly}`;
  const rows = [
    ...(newest === null
      ? []
      : [['seals', `${count(seals)}, the newest of ${newest.sealedAt} by key ${newest.keyId}`] as const]),
    ...[['events', `${count(events)}, without the seals' own`] as const, ['sealed', count(sealed)] as const],
    ...(anchored === 0 ? [] : [['anchored', count(anchored)] as const]),
    [
      'unsealed',
      `${count(events - sealed)}${anchored === 0 ? '' : `; ${count(consistentOnly)} sealed after the anchor`}`,
    ] as const,
    ['verdict', `${verdict}${verdict === 'anchored' && consistentOnly > 0 ? upTo : ''}`] as const,
  ];
  return [...faults.map(lineOf), ...further, ...named, facts(rows)].join('\n');
}

function lineOf({ seal, range, problem }: SealFault): string {
  const said = onOneLine(problem);
  if (seal === null || range === null) return said;
  return `seal ${seal} (events ${count(range.first)} to ${count(range.last)}): ${said}`;
}
