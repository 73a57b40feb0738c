import { type Command, InvalidArgumentError } from 'commander';
import { RELAY_LIMITS } from '../../../ledger/relay/limits.ts';
import { type CommandContext, CommandError, configurationOf, EXIT } from '../command-context.ts';
import { assertKafkaRead } from '../configuration/assert-kafka-read.ts';
import { assertLedgerThere } from '../ledger-file.ts';
import { withoutTrustClock } from '../without-trust-clock.ts';
import { addFillCommand } from './fill-topic-command.ts';

/** `gateway relay`, `gateway relay fill`: publishes the ledger to Kafka until SIGTERM, SIGINT or SIGHUP, or into a new topic. */
export function addRelayCommand(program: Command, context: CommandContext): void {
  const relay = withoutTrustClock(program.command('relay'))
    .description('publish the ledger to Kafka; a second one stands by')
    .option(
      '--claim-seconds <n>',
      'how long a relay that was killed keeps others waiting',
      claimArgument,
      RELAY_LIMITS.claimMs / 1_000,
    )
    .addHelpText('after', '\nExample:\n  gateway relay --config gateway.yaml')
    .action(async ({ claimSeconds }: { readonly claimSeconds: number }, command: Command) => {
      const configuration = configurationOf(context, command);
      const { kafka } = configuration;
      if (kafka === null) throw new CommandError('the configuration has no section kafka', EXIT.usage);
      assertKafkaRead(configuration);
      assertLedgerThere(configuration);
      // Loaded here, because the other commands need nothing of it.
      const { runRelayCommand } = await import('./run-relay-command.ts');
      await runRelayCommand({ configuration, kafka, context, claimMs: claimSeconds * 1_000 });
    });
  addFillCommand(relay, context);
}

function claimArgument(text: string): number {
  const seconds = Number(text);
  if (!(seconds * 1_000 >= RELAY_LIMITS.claimMsMin && seconds * 1_000 <= RELAY_LIMITS.claimMsMax))
    throw new InvalidArgumentError(
      `expected a number of seconds from ${RELAY_LIMITS.claimMsMin / 1_000} to ${RELAY_LIMITS.claimMsMax / 1_000}`,
    );
  return seconds;
}
