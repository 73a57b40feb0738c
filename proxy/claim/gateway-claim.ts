import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { folderIdentity } from './folder-identity.ts';
import { ProxyClaim } from './proxy-claim.ts';

export interface GatewayClaimOptions {
  readonly configuration: Configuration;
  readonly log: EventLog;
  readonly clock: () => number;
  readonly logger: Logger;
  /** What is to be said to whoever asks for more. */
  readonly onFenced: (why: string) => void;
}

/**
 * The claim of a gateway on its name. Null where one proxy has a log in its own data folder: a copy of the folder has its
 * own log, too. With the log elsewhere a copy has the same name, also where it is configured as the only proxy.
 */
export function gatewayClaim(options: GatewayClaimOptions): ProxyClaim | null {
  const { configuration, log, clock, logger, onFenced } = options;
  if (configuration.proxies === 'one' && configuration.eventLog.kind === 'sqlite') return null;
  return new ProxyClaim({
    log,
    dataFolder: configuration.data,
    folder: folderIdentity(journalFolder(configuration.data)),
    clock,
    logger,
    onFenced: ({ proxy, epoch }) => {
      const why = `another process has claimed the name ${proxy} (epoch ${epoch}), so this data folder was copied: what is under way here is settled; started again, this gateway takes a new name`;
      logger.error({ proxy, epoch }, why);
      onFenced(why);
    },
  });
}
