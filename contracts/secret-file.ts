import { isSecretForFile, NAME_OF_FILE } from './secret-like.ts';
import { systemText } from './system-text.ts';

/** The name of a file that has a secret. Faults, doctor and backups tell it, so that none is taken for it that is the secret itself. */
export const secretFile = systemText.refine((name) => !isSecretForFile(name), NAME_OF_FILE);
