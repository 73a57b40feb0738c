import type { Command } from 'commander';
import { LIMITS } from '../../../contracts/limits.ts';
import { wholeNumberArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, EXIT } from '../command-context.ts';
import { plainTable, show } from '../show.ts';
import type { Finding } from './finding.ts';

const COLOURS = { ok: 'green', warn: 'bold', fault: 'red' } as const;
const COLUMNS = (['left', 'left', 'left'] as const).map((align) => ({ head: '', align }));

/** `gateway doctor`: what a gateway needs, looked at beside one that runs or without one. */
export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description(
      'look at all that a gateway needs: a line each, with what to do next; ends with 5 where there is a fault',
    )
    .option(
      '--timeout <seconds>',
      'how long each look may take, at least 1',
      wholeNumberArgument,
      LIMITS.doctorLookMs / 1_000,
    )
    .addHelpText(
      'after',
      '\nNothing is sent to an upstream, and nothing is changed; an event store gets one event beside the ledger, by whose' +
        ' stamp clocks are compared.\n\nExamples:\n  gateway doctor\n  gateway doctor --config gateway.yaml --json',
    )
    .action(async ({ timeout }: { readonly timeout: number }, command: Command) => {
      if (timeout < 1) throw new CommandError('--timeout must be at least 1', EXIT.usage);
      // Loaded here, because no other command looks at so much.
      const { examine } = await import('./examine.ts');
      context.whenUnread?.(null);
      const findings = await examine({ context, command }, timeout * 1_000);
      show(context, command, { json: findings, text: () => textOf(findings, context), isPainted: true });
      const faults = findings.filter(({ state }) => state === 'fault').length;
      if (faults > 0) throw new CommandError(`faults found: ${faults}`, EXIT.faults);
    });
}

/** A line each, however long: what is to be done stands at its end. */
function textOf(findings: readonly Finding[], context: CommandContext): string {
  const rows = findings.map(({ state, check, says, advice }) => [
    state,
    check,
    advice === null ? says : `${says}; ${advice}`,
  ]);
  const colourOf = (row: number, column: number) => (column === 0 ? COLOURS[findings[row]?.state ?? 'ok'] : null);
  return plainTable(COLUMNS, rows, { context, colourOf });
}
