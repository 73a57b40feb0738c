import type { Command } from 'commander';
import { eventId } from '../../../contracts/ids.ts';
import { brief } from '../../../contracts/printable.ts';
import { checkProof, type ProofVerdict } from '../../../ledger/seals/check-proof.ts';
import { keysOfFile, proofOfFile, sealsOfFile } from '../../../ledger/seals/outside-files.ts';
import { prove } from '../../../ledger/seals/prove.ts';
import { pathArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';
import { facts, show } from '../show.ts';
import { logWithProgress } from './log-with-progress.ts';
import { opened, parsed } from './verify-seals-command.ts';
import { offlineOption, withLedger } from './with-ledger.ts';

interface ProveOptions {
  readonly since?: string;
  readonly offline?: string;
}

/** `gateway ledger prove`, `gateway ledger check-proof`. */
export function addProveCommands(ledger: Command, context: CommandContext): void {
  ledger
    .command('prove')
    .description(
      'print, as JSON, that an event stands in the ledger as its newest seal covers it (RFC 6962 inclusion), or that what an' +
        ' earlier seal covers is its beginning (consistency): a proof that holds without the ledger',
    )
    .argument('[event]', "the event's id")
    .option('--since <seal>', 'an earlier seal: its number, or a file that has it')
    .addOption(offlineOption())
    .addHelpText(
      'after',
      '\nExamples:\n  gateway ledger prove 01890a5d-ac96-7abc-bcce-b302099a8057 > proof.json\n  gateway ledger prove --since anchor.ndjson',
    )
    .action(async (id: string | undefined, { since, offline }: ProveOptions, command: Command) => {
      if (id === undefined && since === undefined)
        throw new CommandError('name an event, or --since <seal>', EXIT.usage);
      const question = {
        eventId: id === undefined ? null : eventId(id),
        since: since === undefined ? null : sinceOf(since),
      };
      await withLedger(offline, { context, command }, async (log) => {
        const proof = await prove(logWithProgress(log, context), question);
        if ('problem' in proof) throw new CommandError(proof.problem, EXIT.refused);
        context.write(`${JSON.stringify(proof)}\n`);
      });
    });
  ledger
    .command('check-proof')
    .description('check what gateway ledger prove has printed; the ledger is not needed')
    .argument('<file>', 'the proof', pathArgument)
    .requiredOption(
      '--keys <file>',
      'public keys from outside, as gateway ledger keys --json prints them',
      pathArgument,
    )
    .option('--anchor <file>', 'seals that were kept outside the ledger', pathArgument)
    .action((file: string, options: { readonly keys: string; readonly anchor?: string }, command: Command) => {
      const keys = parsed(options.keys, keysOfFile);
      const anchors = options.anchor === undefined ? [] : opened(options.anchor, sealsOfFile);
      const verdict = checkProof(parsed(file, proofOfFile), { keys, anchors });
      context.whenUnread?.(null);
      show(context, command, { json: verdict, text: () => textOf(verdict) });
      if (verdict.problems.length > 0)
        throw new CommandError(brief(`the proof does not hold: ${verdict.problems[0]}`), EXIT.faults);
    });
}

const sinceOf = (text: string) => (/^\d+$/.test(text) ? Number(text) : (opened(text, sealsOfFile).at(-1) ?? null));

function textOf({ problems, proved, anchored, isAnchored }: ProofVerdict): string {
  const how = isAnchored
    ? 'anchored'
    : `not anchored${anchored === 0 ? '' : `: the anchor ends with event ${anchored - 1}`}`;
  const verdict = problems.length > 0 ? 'does not hold' : `holds, ${how}`;
  return [...[...problems, ...proved].map(brief), facts([['verdict', verdict]])].join('\n');
}
