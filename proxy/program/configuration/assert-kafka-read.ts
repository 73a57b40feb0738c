import { type Configuration, ConfigurationError } from '../../../contracts/configuration.ts';

/** By whoever is about to speak with brokers, before anything else is done. @throws ConfigurationError with what could not be read */
export function assertKafkaRead({ kafka, file }: Pick<Configuration, 'kafka' | 'file'>): void {
  if (kafka?.unread !== undefined) throw new ConfigurationError(file ?? 'configuration', kafka.unread);
}
