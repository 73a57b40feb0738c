import { type Command, InvalidArgumentError } from 'commander';
import { TOPIC_NAME } from '../../../contracts/kafka-configuration.ts';
import { counted } from '../../../contracts/money.ts';
import { wholeNumberArgument } from '../command-arguments.ts';
import { type CommandContext, CommandError, configurationOf, EXIT } from '../command-context.ts';
import { assertKafkaRead } from '../configuration/assert-kafka-read.ts';
import { assertLedgerThere } from '../ledger-file.ts';
import { show } from '../show.ts';
import { withoutTrustClock } from '../without-trust-clock.ts';

interface FillOptions {
  readonly partitions?: number;
  /** Of `relay`, with its default. */
  readonly claimSeconds: number;
}

/**
 * `gateway relay fill`: a new topic with all that the ledger has, in order, made beside the one that is in use. What
 * changes over to it is the configuration: the relay that is started with the new name goes on where this has ended.
 */
export function addFillCommand(relay: Command, context: CommandContext): void {
  withoutTrustClock(relay.command('fill'))
    .description(
      'make a new topic and fill it from the ledger, whole and in order, while the relay goes on with the one in use; then' +
        ' name it in kafka.topic. Run again, it goes on where it was',
    )
    .argument('<topic>', 'the name of the new topic', topicArgument)
    .option(
      '--partitions <n>',
      'how many it has; as many as kafka.partitions says where it is not given',
      wholeNumberArgument,
    )
    .addHelpText('after', '\nExample:\n  gateway relay fill ledger-2 --partitions 24 --config gateway.yaml')
    .action(async (topic: string, _options: unknown, command: Command) => {
      const configuration = configurationOf(context, command);
      if (configuration.kafka === null) throw new CommandError('the configuration has no section kafka', EXIT.usage);
      const { partitions = configuration.kafka.partitions, claimSeconds } = command.optsWithGlobals<FillOptions>();
      if (topic === configuration.kafka.topic)
        throw new CommandError(`${topic} is the topic in use (kafka.topic): the new one has another name`, EXIT.usage);
      if (partitions < 1) throw new CommandError('--partitions must be at least 1', EXIT.usage);
      assertKafkaRead(configuration);
      assertLedgerThere(configuration);
      const kafka = { ...configuration.kafka, topic, partitions };
      const { runRelayCommand } = await import('./run-relay-command.ts');
      await runRelayCommand({ configuration, kafka, context, claimMs: claimSeconds * 1_000, fills: true });
      show(context, command, { json: { topic, partitions }, text: next(topic, partitions) });
    });
}

const next = (topic: string, partitions: number): string =>
  [
    `the topic ${topic} has all that the ledger had, in ${counted(partitions, 'partition')}`,
    `next: kafka.topic: ${topic} and kafka.partitions: ${partitions} in the configuration of every relay and gateway, and start`,
    'them again, the relays first: one goes on where this has ended. Readers begin the new topic at its beginning, with the',
    'revisions that they have kept and none of the offsets. Until then what is new stands in the old topic alone.',
  ].join('\n');

function topicArgument(text: string): string {
  if (!TOPIC_NAME.test(text)) throw new InvalidArgumentError('expected letters, digits, ".", "_" or "-"');
  return text;
}
