import { z } from 'zod';
import { environmentVariable } from './environment-variable.ts';
import { systemText } from './system-text.ts';

/** Files of PEM, relative to the configuration file; read once, when the configuration is. */
const tlsFilesSchema = z.strictObject({
  /** The authorities that the brokers' certificates are believed from, instead of those that Node brings. */
  caFile: systemText.optional(),
  /** This client's certificate, with what stands between it and its authority behind it, and its private key. */
  certificateFile: systemText.optional(),
  keyFile: systemText.optional(),
  /** Of a key that is encrypted: by a variable's name, or in a file that holds it and nothing else. */
  keyPassphraseEnv: environmentVariable.optional(),
  keyPassphraseFile: systemText.optional(),
});

/** `true` believes the authorities that Node brings and has no certificate of its own. */
export const kafkaTlsSchema = z.union([z.boolean(), tlsFilesSchema], {
  error: `expected true, false, or some of ${Object.keys(tlsFilesSchema.shape).join(', ')}`,
});

/** By the names that Node has for them. All of it is PEM. */
export interface KafkaTls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
}
