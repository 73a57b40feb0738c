import { withValidity } from '../../../ledger/seals/rotate-key.ts';
import { sealKeyFile } from '../../../ledger/seals/seal-keys.ts';
import { Sealer } from '../../../ledger/seals/sealer.ts';
import type { Availability } from '../../availability.ts';
import type { GatewayOptions } from '../../gateway-options.ts';
import { replaceLostKey, sealKeySource } from '../configuration/seal-key-of.ts';

export const NO_KEY =
  'the ledger is not sealed: the configuration names no key for it (seals.keyFile or seals.keyEnv), so a change of what is ' +
  'written would show by nothing but its arithmetic';

/** Null where there is no key, which the log is told. */
export function gatewaySealer(
  { configuration, log, clock, logger }: Pick<GatewayOptions, 'configuration' | 'log' | 'clock' | 'logger'>,
  availability: Pick<Availability, 'refuse'>,
): Sealer | null {
  const { data, seals } = configuration;
  const key = sealKeySource(configuration, ({ keyId, publicKey }) =>
    logger.info(
      { keyId, publicKey, file: sealKeyFile(data) },
      'a key for the seals of the ledger was made: keep its public half where nobody can change it who can change the ledger ' +
        '(`gateway ledger keys --json`, once there is a seal)',
    ),
  );
  if (key === null) {
    logger.warn(NO_KEY);
    return null;
  }
  const mayWrite = (): boolean => availability.refuse() === null;
  const replaceLost = replaceLostKey(configuration);
  return new Sealer({ log, dataFolder: data, ...seals, key, replaceLost, clock, mayWrite, logger });
}

/** What /.well-known/ledger-keys answers with: what `gateway ledger keys --json` prints. */
export const ledgerKeys = (sealer: Sealer | null): unknown => ({
  keys: sealer === null ? [] : withValidity(sealer.standing().keys),
});

/** What /status of the operators' listener says of the seals: how far they go, or why there are none. */
export function sealStatus(sealer: Sealer | null): unknown {
  if (sealer === null) return { ok: false, reason: NO_KEY };
  const { newest, stopped, uncopied, unsealed } = sealer.standing();
  const reason = stopped ?? (uncopied === null ? null : `seals are not copied: ${uncopied}`);
  return {
    ok: reason === null,
    ...(reason === null ? {} : { reason }),
    newestSeal: newest,
    eventsBehind: unsealed,
  };
}
