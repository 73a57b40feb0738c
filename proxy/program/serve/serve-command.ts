import type { Command } from 'commander';
import { hostArgument, portArgument } from '../command-arguments.ts';
import type { CommandContext } from '../command-context.ts';
import { type StopOnSignals, stopOnSignals } from '../stop-on-signals.ts';
import { withoutTrustClock } from '../without-trust-clock.ts';
import type { ServeOptions } from './run-serve-command.ts';

/** `gateway serve`: runs until SIGTERM, SIGINT or SIGHUP, then stops in order. */
export function addServeCommand(program: Command, context: CommandContext): void {
  withoutTrustClock(program.command('serve'))
    .description('run the gateway')
    .option('--host <address>', 'listen there instead of where the configuration says', hostArgument)
    .option('--port <port>', 'likewise; 0 takes any free port', portArgument)
    .addHelpText('after', '\nExamples:\n  gateway serve\n  gateway serve --config gateway.yaml --port 8080')
    .action(async (options: ServeOptions, command: Command) => {
      // While nothing is begun there is nothing to stop.
      const signals: StopOnSignals = { logger: null, stop: () => context.leave?.(0) };
      stopOnSignals(signals);
      // Loaded here, because the server is most of the program and the other commands need nothing of it.
      const { runServeCommand } = await import('./run-serve-command.ts');
      // What it writes as it starts is written whoever it runs as.
      const ofServe = { ...context, user: context.user ?? 'gateway', signals };
      await runServeCommand(options, command, ofServe);
    });
}
