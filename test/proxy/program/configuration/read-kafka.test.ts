import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Configuration } from '../../../../contracts/configuration.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { faultsOf } from '../../../fixtures/faults-of.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { Authority } from '../../../kafka/certificates.ts';

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
const put = (name: string, text: string): string => {
  writeFileSync(at(name), text);
  return name;
};

const ENVIRONMENT = { KEY_PASSPHRASE: 'open sesame', PASSWORD: 'right' };

function read(section: object): Configuration['kafka'] {
  const file = at('gateway.json');
  writeFileSync(file, JSON.stringify({ kafka: { brokers: ['a:1'], ...section } }));
  return readConfiguration({ file, environment: ENVIRONMENT, callsProviders: true }).kafka;
}

const authority = new Authority();
const { certificate, key, privateKey } = authority.certify('relay');
const encrypted = privateKey
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: ENVIRONMENT.KEY_PASSPHRASE })
  .toString();
const caFile = put('ca.pem', `an authority\n${authority.certificate}${new Authority('another').certificate}`);
const certificateFile = put('own.pem', certificate + authority.certificate);
const keyFile = put('own.key', key);
const lockedKeyFile = put('locked.key', encrypted);
const otherKeyFile = put('other.key', authority.certify('other').key);
const passphraseFile = put('passphrase', `${ENVIRONMENT.KEY_PASSPHRASE}\n`);
const wrongFile = put('wrong', 'not it');

describe('TLS to Kafka', () => {
  it('is off unless configuration says otherwise', () => {
    expect(read({})).toMatchObject({ ssl: false, sasl: null });
    expect(read({ ssl: true })).toMatchObject({ ssl: true });
  });

  it('has what the files hold, which are named from the configuration file', () => {
    const ssl = read({ ssl: { caFile, certificateFile, keyFile } })?.ssl;
    expect(ssl).toEqual({
      ca: expect.stringContaining(authority.certificate),
      cert: certificate + authority.certificate,
      key,
    });
    expect(read({ ssl: { caFile: at(caFile) } })?.ssl).toEqual({ ca: expect.stringContaining(authority.certificate) });
  });

  it.each([
    ['a variable', { keyPassphraseEnv: 'KEY_PASSPHRASE' }],
    ['a file', { keyPassphraseFile: passphraseFile }],
  ])('opens an encrypted key by a passphrase from %s', (_what, where) => {
    const ssl = read({ ssl: { certificateFile, keyFile: lockedKeyFile, ...where } })?.ssl;
    expect(ssl).toMatchObject({ key: encrypted, passphrase: ENVIRONMENT.KEY_PASSPHRASE });
  });

  const secret = put('unreadable.pem', certificate);
  chmodSync(at(secret), 0);
  const own = { certificateFile, keyFile };

  it.each([
    ['a number', 5, 'ssl: expected true, false, or some of caFile, certificateFile, keyFile,'],
    ['a field that it does not have', { certificate: 'x' }, 'ssl: has no setting named "certificate"'],
    ['no file', { caFile: 'none.pem' }, `ssl.caFile: ${at('none.pem')} does not exist`],
    ['a folder', { caFile: '.' }, `ssl.caFile: ${folder} is a folder`],
    ['a device', { caFile: '/dev/null' }, 'ssl.caFile: /dev/null is no file, but a device, a pipe or a socket'],
    ['a NUL', { caFile: 'a\0b' }, 'ssl.caFile: holds a NUL character'],
    ['what is no PEM', { caFile: wrongFile }, `ssl.caFile: ${at(wrongFile)} holds no certificate in PEM`],
    ['a key for an authority', { caFile: keyFile }, `ssl.caFile: ${at(keyFile)} holds no certificate in PEM`],
    [
      'a broken certificate',
      { caFile: put('broken.pem', certificate + certificate.replace('MII', 'MAA').replace(/MI../, 'AAAA')) },
      `ssl.caFile: certificate 2 in ${at('broken.pem')} cannot be read`,
    ],
    ['a certificate alone', { certificateFile }, 'ssl.certificateFile: a client certificate needs both'],
    ['a key alone', { keyFile }, 'ssl.keyFile: a client certificate needs both'],
    ['a passphrase alone', { keyPassphraseEnv: 'X' }, 'ssl.keyPassphraseEnv: a client certificate needs both'],
    ['no key', { ...own, keyFile: 'none.key' }, `ssl.keyFile: ${at('none.key')} does not exist`],
    [
      'a certificate for a key',
      { ...own, keyFile: certificateFile },
      `ssl.keyFile: ${at(certificateFile)} holds no private`,
    ],
    [
      'a key of something else',
      { ...own, keyFile: otherKeyFile },
      `ssl.keyFile: the key in ${at(otherKeyFile)} is not that of the first certificate in ${at(certificateFile)}`,
    ],
    [
      'a key of another kind',
      {
        ...own,
        keyFile: put(
          'ed25519.key',
          generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        ),
      },
      'ssl.keyFile: the key in',
    ],
    [
      'a broken key',
      { ...own, keyFile: put('broken.key', key.replace(/\nM/, '\nA')) },
      `ssl.keyFile: the private key in`,
    ],
    [
      'no passphrase',
      { ...own, keyFile: lockedKeyFile },
      `ssl.keyFile: ${at(lockedKeyFile)} is encrypted; keyPassphraseEnv`,
    ],
    [
      'a wrong passphrase',
      { ...own, keyFile: lockedKeyFile, keyPassphraseFile: wrongFile },
      `ssl.keyPassphraseFile: is not the passphrase of ${at(lockedKeyFile)}`,
    ],
    [
      'a variable that is not set',
      { ...own, keyFile: lockedKeyFile, keyPassphraseEnv: 'NOT_SET' },
      'ssl.keyPassphraseEnv: the environment variable NOT_SET is not set',
    ],
    [
      'an empty file',
      { ...own, keyFile: lockedKeyFile, keyPassphraseFile: put('empty', '') },
      `ssl.keyPassphraseFile: ${at('empty')} is empty`,
    ],
    [
      'two passphrases',
      { ...own, keyFile: lockedKeyFile, keyPassphraseFile: passphraseFile, keyPassphraseEnv: 'KEY_PASSPHRASE' },
      'ssl: has both keyPassphraseEnv and keyPassphraseFile',
    ],
  ])('is refused with %s', (_what, ssl, fault) => {
    const faults = faultsOf(() => read({ ssl }));
    expect(faults).toEqual([expect.stringContaining(`kafka.${fault}`)]);
    expect(faults.join()).not.toMatch(/PRIVATE KEY-----\n|open sesame|not it/);
  });

  it.skipIf(process.getuid?.() === 0)('is refused with a file that may not be read', () => {
    expect(faultsOf(() => read({ ssl: { caFile: secret } }))).toEqual([
      `kafka.ssl.caFile: ${at(secret)} may not be read by this user`,
    ]);
  });
});

describe('the compression of the feed', () => {
  it('is gzip, or what configuration says of those that readers read', () => {
    expect(read({})?.compression).toBe('gzip');
    for (const compression of ['none', 'gzip', 'zstd']) expect(read({ compression })?.compression).toBe(compression);
    expect(faultsOf(() => read({ compression: 'lz4' }))).toEqual([
      'kafka.compression: expected one of "none", "gzip", "zstd"',
    ]);
  });
});

describe('credentials for Kafka', () => {
  const tokenFile = put('token', 'a-token');

  it('are a user and a password from a variable', () => {
    const sasl = { mechanism: 'scram-sha-512', username: 'relay', passwordEnv: 'PASSWORD' };
    expect(read({ sasl })?.sasl).toEqual({ mechanism: 'scram-sha-512', username: 'relay', password: 'right' });
  });

  it('are tokens of a program or a file, which are named from the configuration file', () => {
    const mechanism = 'oauthbearer';
    expect(read({ sasl: { mechanism, tokenFile } })?.sasl).toEqual({ mechanism, token: { file: at(tokenFile) } });
    expect(read({ sasl: { mechanism, tokenCommand: ['./give', '-x'] } })?.sasl).toEqual({
      mechanism,
      token: { command: [at('give'), '-x'] },
    });
    expect(read({ sasl: { mechanism, tokenCommand: ['give'] } })?.sasl).toMatchObject({ token: { command: ['give'] } });
  });

  it.each([
    [
      { mechanism: 'gssapi' },
      'kafka.sasl.mechanism: expected "plain", "scram-sha-256", "scram-sha-512" or "oauthbearer"',
    ],
    [{ mechanism: 'plain', username: 'x' }, 'kafka.sasl.passwordEnv: required, expected a string'],
    [{ mechanism: 'oauthbearer' }, 'kafka.sasl: needs either tokenCommand or tokenFile'],
    [
      { mechanism: 'oauthbearer', tokenFile, tokenCommand: ['x'] },
      'kafka.sasl: needs either tokenCommand or tokenFile',
    ],
    [{ mechanism: 'oauthbearer', tokenFile: 'none' }, `kafka.sasl.tokenFile: ${at('none')} does not exist`],
    [{ mechanism: 'oauthbearer', tokenFile, username: 'x' }, 'kafka.sasl: has no setting named "username"'],
  ])('are refused as %j', (sasl, fault) => {
    expect(faultsOf(() => read({ sasl }))).toEqual([fault]);
  });
});
