import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { resolve } from 'node:path';
import type { z } from 'zod';
import type { Environment } from '../../../contracts/environment-variable.ts';
import type { KafkaTls, kafkaTlsSchema } from '../../../contracts/kafka-tls.ts';
import { fromEnvironment, fromFile, fromSecretFile } from './secret-text.ts';

export interface FilesSource {
  /** The folder that relative paths begin in. */
  readonly base: string;
  readonly environment: Environment;
}

export interface KafkaFaults {
  /** Get what is amiss, each with its field: in the section itself, and in what it names. */
  readonly section: string[];
  readonly named: string[];
}

/** Reads and checks the files. */
export function readKafkaTls(
  parsed: z.infer<typeof kafkaTlsSchema>,
  source: FilesSource,
  faults: KafkaFaults,
): boolean | KafkaTls {
  if (typeof parsed === 'boolean') return parsed;
  const ca = parsed.caFile === undefined ? null : readCertificates(parsed.caFile, 'caFile', source, faults.named);
  const own = readOwn(parsed, source, faults);
  return { ...(ca === null ? {} : { ca: ca.text }), ...own };
}

type TlsFiles = Exclude<z.infer<typeof kafkaTlsSchema>, boolean>;

function readOwn(parsed: TlsFiles, source: FilesSource, faults: KafkaFaults): Omit<KafkaTls, 'ca'> {
  const { certificateFile, keyFile } = parsed;
  if (certificateFile === undefined || keyFile === undefined) {
    const set = (['certificateFile', 'keyFile', 'keyPassphraseEnv', 'keyPassphraseFile'] as const).find(
      (field) => parsed[field] !== undefined,
    );
    if (set !== undefined)
      faults.section.push(`kafka.ssl.${set}: a client certificate needs both certificateFile and keyFile`);
    return {};
  }
  const certificates = readCertificates(certificateFile, 'certificateFile', source, faults.named);
  const key = readKey(keyFile, readPassphrase(parsed, source, faults), source, faults.named);
  if (certificates === null || key === null) return {};
  if (!certificates.first.checkPrivateKey(key.object))
    faults.named.push(
      `kafka.ssl.keyFile: the key in ${resolve(source.base, keyFile)} is not that of the first certificate in ` +
        resolve(source.base, certificateFile),
    );
  return { cert: certificates.text, key: key.text, ...(key.passphrase === '' ? {} : { passphrase: key.passphrase }) };
}

const CERTIFICATES = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[^-]*-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;

function readCertificates(
  name: string,
  field: keyof TlsFiles,
  { base }: FilesSource,
  faults: string[],
): { text: string; first: X509Certificate } | null {
  const path = resolve(base, name);
  const text = fromFile(path, `kafka.ssl.${field}`, faults);
  if (text === null) return null;
  let first: X509Certificate | null = null;
  for (const [index, pem] of (text.match(CERTIFICATES) ?? []).entries())
    try {
      const certificate = new X509Certificate(pem);
      first ??= certificate;
    } catch {
      faults.push(`kafka.ssl.${field}: certificate ${index + 1} in ${path} cannot be read`);
      return null;
    }
  if (first === null)
    faults.push(`kafka.ssl.${field}: ${path} holds no certificate in PEM (-----BEGIN CERTIFICATE-----)`);
  return first === null ? null : { text, first };
}

interface Passphrase {
  /** The field that says where it is; null where none does. */
  readonly field: 'keyPassphraseEnv' | 'keyPassphraseFile' | null;
  readonly text: string;
}

function readPassphrase(parsed: TlsFiles, { base, environment }: FilesSource, faults: KafkaFaults): Passphrase {
  const { keyPassphraseEnv: variable, keyPassphraseFile: name } = parsed;
  if (variable !== undefined && name !== undefined)
    faults.section.push('kafka.ssl: has both keyPassphraseEnv and keyPassphraseFile');
  if (variable !== undefined) {
    const field = 'keyPassphraseEnv';
    return { field, text: fromEnvironment(variable, `kafka.ssl.${field}`, environment, faults.named) };
  }
  if (name === undefined) return { field: null, text: '' };
  const field = 'keyPassphraseFile';
  return { field, text: fromSecretFile(resolve(base, name), `kafka.ssl.${field}`, faults.named) };
}

function readKey(
  name: string,
  { field, text: passphrase }: Passphrase,
  { base }: FilesSource,
  faults: string[],
): { text: string; object: KeyObject; passphrase: string } | null {
  const path = resolve(base, name);
  const text = fromFile(path, 'kafka.ssl.keyFile', faults);
  if (text === null) return null;
  if (!/-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(text)) {
    faults.push(`kafka.ssl.keyFile: ${path} holds no private key in PEM (-----BEGIN PRIVATE KEY-----)`);
    return null;
  }
  try {
    return { text, object: createPrivateKey({ key: text, passphrase }), passphrase };
  } catch {
    const isEncrypted = /ENCRYPTED/.test(text);
    if (!isEncrypted) faults.push(`kafka.ssl.keyFile: the private key in ${path} cannot be read`);
    else if (field === null)
      faults.push(`kafka.ssl.keyFile: ${path} is encrypted; keyPassphraseEnv or keyPassphraseFile says its passphrase`);
    // Where the passphrase is missing, that has been said.
    else if (passphrase !== '') faults.push(`kafka.ssl.${field}: is not the passphrase of ${path}`);
    return null;
  }
}
