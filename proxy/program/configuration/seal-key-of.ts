import { existsSync } from 'node:fs';
import { type Configuration, ConfigurationError } from '../../../contracts/configuration.ts';
import { shortageOf, ToldShortageError } from '../../../contracts/shortage.ts';
import { keyOfFile, keyOfFolder, type SealKey, sealKeyFile, sealKeyOf } from '../../../ledger/seals/seal-keys.ts';
import { nextCommand } from '../next-command.ts';
import { whyNotRead } from './secret-text.ts';

/**
 * The key of seals, as it is each time that it is asked for; null where none is configured, and nothing is sealed. Asked
 * with true the embedded ledger's is made where there is none, which is for who knows that the ledger knows none either. It
 * throws a ConfigurationError, and a ToldShortageError for what may pass.
 * @param onMade told of a key that was made, because the embedded ledger had none
 */
export function sealKeySource(
  { seals: { key: place }, data, file }: Pick<Configuration, 'seals' | 'data' | 'file'>,
  onMade: (key: SealKey) => void = () => undefined,
): ((mayMake: boolean) => SealKey) | null {
  if (place === null) return null;
  const replaceLost = replaceLostKey({ seals: { key: place }, data, file });
  const read = (mayMake: boolean): SealKey => {
    if (place.type === 'file') return keyOfFile(place.file);
    if (place.type === 'text') return sealKeyOf(place.pem);
    if (!mayMake) return keyOfFile(sealKeyFile(data));
    const { key, isNew } = keyOfFolder(data);
    if (isNew) onMade(key);
    return key;
  };
  return (mayMake) => {
    try {
      return read(mayMake);
    } catch (cause) {
      const what =
        place.type === 'text'
          ? `seals.keyEnv: the variable ${cause instanceof Error ? cause.message : String(cause)}`
          : `${place.type === 'file' ? 'seals.keyFile' : 'the key of seals'}: ${whyNotRead(placeOf(place, data), cause)}`;
      const shortage = shortageOf(cause) ?? shortageOf(cause instanceof Error ? cause.cause : undefined);
      // It passes: nothing is amiss with the configuration.
      if (shortage !== null) throw new ToldShortageError(what, shortage);
      const isGone = place.type === 'data folder' && !existsSync(sealKeyFile(data));
      const remedy = isGone
        ? `: put it back (no backup has it), and start the gateway again; where it is lost: ${replaceLost}`
        : '';
      throw new ConfigurationError(file ?? 'configuration', [`${what}${remedy}`]);
    }
  };
}

type OfLedger = Pick<Configuration, 'data' | 'file'> & { readonly seals: Pick<Configuration['seals'], 'key'> };

/** The command that introduces the next key, for this ledger, wherever it is typed. */
export function introduceNextKey({ seals: { key: place }, data, file }: OfLedger, ...more: readonly string[]): string {
  const next = place?.type === 'data folder' ? [] : ['--key-file', 'FILE'];
  return nextCommand({ config: file, data }, 'gateway', 'ledger', 'keys', 'rotate', ...more, ...next);
}

/** The same in the place of one that is lost. */
export const replaceLostKey = (ledger: OfLedger): string => introduceNextKey(ledger, '--lost');

const placeOf = (
  place: { readonly type: 'file'; readonly file: string } | { readonly type: 'data folder' },
  data: string,
) => (place.type === 'file' ? place.file : sealKeyFile(data));
