import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { giveToFolderOwner } from '../folder-owner.ts';
import { textOfFile } from '../named-file.ts';
import { replaceFile } from '../replace-file.ts';
import { syncFolder } from '../sync-folder.ts';
import { introductionText, keyIdOf, type SealKeyIntroduced } from './seal-signature.ts';

/** What seals are signed with; the private half is nowhere to be seen. */
export interface SealKey {
  readonly keyId: string;
  /** The 32 raw bytes as base64. */
  readonly publicKey: string;
  /** Ed25519 (RFC 8032) as base64. */
  sign(text: string): string;
}

/** @param pem a private key as `openssl genpkey -algorithm ed25519` writes it (PKCS #8) @throws Error that says what is amiss */
export function sealKeyOf(pem: string): SealKey {
  const key = privateKeyOf(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`holds a key of ${key.asymmetricKeyType}, not of Ed25519`);
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const publicKey = Buffer.from(x, 'base64url').toString('base64');
  return {
    keyId: keyIdOf(publicKey),
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  };
}

function privateKeyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    // What OpenSSL says of it may quote it.
    throw new Error('holds no private key in PEM', { cause });
  }
}

const newKeyText = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const OWNERS_ALONE = 0o600;
const FILE = 'seal-key';

/** Where the embedded ledger's key is. */
export const sealKeyFile = (dataFolder: string): string => join(dataFolder, FILE);
/** Where the next one is until the ledger knows it: a rotation that was interrupted goes on with it. */
const nextKeyFile = (dataFolder: string): string => `${sealKeyFile(dataFolder)}.next`;

/** @throws Error that says what is amiss with the file */
export const keyOfFile = (file: string): SealKey => sealKeyOf(textOfFile(file));

/** The key of a data folder, made where it has none, also by another at the same time: its owner alone can read it. @throws Error of the file system, or as `keyOfFile` */
export function keyOfFolder(dataFolder: string): { readonly key: SealKey; readonly isNew: boolean } {
  const file = sealKeyFile(dataFolder);
  const isNew = !existsSync(file) && makeFile(file, newKeyText());
  return { key: keyOfFile(file), isNew };
}

/** The key that is to follow the folder's, kept until `takeNextKey`. @throws as `keyOfFolder` */
export function nextKeyOfFolder(dataFolder: string): SealKey {
  const file = nextKeyFile(dataFolder);
  // Of several rotations at once one makes it, and each introduces that one.
  for (let attempt = 1; ; attempt++) {
    if (!existsSync(file)) makeFile(file, newKeyText());
    try {
      return keyOfFile(file);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      // Another rotation has taken it, and this one is the next.
      if (existsSync(file) || attempt === ATTEMPTS_MAX)
        throw new Error(
          `${file} ${why}: a rotation is making it, or was ended while it did, and the ledger does not know it: run this ` +
            'again, and if it says the same, remove that file first',
          { cause: error },
        );
    }
  }
}

const ATTEMPTS_MAX = 5;

/** Whole under its name, or not at all: of several at once one is first. False where it is there. @throws Error of the file system */
function makeFile(file: string, text: string | Buffer): boolean {
  const beside = `${file}.${randomUUID()}`;
  try {
    writeFileSync(beside, text, { flag: 'wx', mode: OWNERS_ALONE, flush: true });
    giveToFolderOwner(beside);
    linkSync(beside, file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(beside, { force: true });
  }
  syncFolder(dirname(file));
  return true;
}

/**
 * What stands in the place of the folder's key is kept beside it, before a key takes that place for which it does not vouch: it may be
 * another ledger's. Null where nothing stands there. @throws Error of the file system
 */
export function keepKeyFile(dataFolder: string, { keyId }: Pick<SealKey, 'keyId'>): string | null {
  const own = sealKeyFile(dataFolder);
  if (!existsSync(own)) return null;
  const [kept, content] = [`${own}.before-${keyId}`, readFileSync(own)];
  // One that was ended in between has kept it already.
  if (!makeFile(kept, content) && !readFileSync(kept).equals(content))
    throw new Error(`${kept} is there already, and holds another key: move it elsewhere first`);
  return kept;
}

/**
 * The next key is the folder's from here on, and the one before is gone. @param introduced that the ledger knows: where
 * another rotation has taken it, or made one that is to follow it, nothing is taken @throws Error of the file system
 */
export function takeNextKey(dataFolder: string, introduced: Pick<SealKey, 'keyId'>): void {
  const [file, own] = [nextKeyFile(dataFolder), sealKeyFile(dataFolder)];
  try {
    const text = textOfFile(file);
    if (sealKeyOf(text).keyId !== introduced.keyId) return;
    replaceFile(own, text, OWNERS_ALONE);
    rmSync(file, { force: true });
  } catch (error) {
    // Another has taken it meanwhile.
    if (existsSync(file) && keyOfFile(own).keyId !== introduced.keyId) throw error;
  }
}

/** @param by who vouches for it; null is nobody but itself */
export function introductionOf(key: SealKey, by: SealKey | null, validFrom: string): SealKeyIntroduced {
  const { keyId, publicKey } = key;
  const data = { keyId, publicKey, validFrom, introducedBy: by?.keyId ?? null };
  return { ...data, signature: (by ?? key).sign(introductionText(data)) };
}
