import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { keysByName } from '../../../../proxy/program/configuration/keys-by-name.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { sealKeySource } from '../../../../proxy/program/configuration/seal-key-of.ts';
import { fromSecretFile } from '../../../../proxy/program/configuration/secret-text.ts';
import { takeOutUntold } from '../../../../proxy/program/configuration/unfound-files.ts';
import { faultsOf } from '../../../fixtures/faults-of.ts';
import { runHere } from '../../../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { unsignedToken } from '../../../kafka/secured-broker.ts';

const folder = temporaryFolder();
const FILE =
  'no file has the name that stands there; what it is to hold does not belong there itself (with ./ before it a name is told)';
const VARIABLE = 'no environment variable has the name that stands there; a secret itself does not belong there';
const STRIPE_KEY = `sk_live_${'51HabcDEF'.repeat(3)}`;
const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const SECRETS = [
  `sk-${'aB3x'.repeat(6)}`,
  '-----BEGIN PRIVATE KEY-----\nMC4/CAQA',
  ...[`sk-ant-api03-${'aB3_'.repeat(20)}`, STRIPE_KEY, STRIPE_KEY.replace('sk_live', 'rk_test')],
  ...[`whsec_${'Mf1k'.repeat(8)}`, unsignedToken(60), '0123456789abcdef'.repeat(4), pem, `${'wJalr7'.repeat(9)}/b+=`],
  // Hexadecimal, letters and digits, base64 with an early slash and with one before it, a key of Google, and short ones.
  ...[
    '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
    'Zx81KdLmQpW3vNtR7yUbGhJ2cVf5sXqE',
    'cd/Jk3m9+QwErTyUiOpAsDfGhJkLzXcVbNm12345678=',
  ],
  ...['/Jk3m9/QwErTyUiOpAsDfGhJkLzXcVbNm1234567890=', `AIzaSyD-9tSrke72${'Pou'.repeat(7)}MY`, 'sk-abcdefgh1234567'],
  ...['123e4567-e89b-12d3-a456-426614174000', 'sk_live_abcdefghijkl', 'qwertyuiopasdfghjklzxcvbnmqwerty'],
  ...['AbCdEfGhIjKlMnOp', 'correct horse', `keys/${STRIPE_KEY}`, `${'aB3x'.repeat(100)}=`],
  // Nearly words with an abbreviation: more of them than those have, and more capitals; nearly days; nearly versions.
  ...['ZkQwertyBvnMkjHgfdAB', 'KeyQWXZRTB', '19283746-55647382-10293847', 'hunter-84730192-zkjqxwvb'],
  'ab12cd-ef34gh-ij56kl',
];

const LONG_VARIABLE = `KEY_${'OF_THE_GATEWAY_'.repeat(3)}2`;

const provider = { protocol: 'messages', baseUrl: 'http://127.0.0.1:9' };
const stripe = { provider: 'stripe', stripe: { secretKeyEnv: 'STRIPE_KEY', successUrl: 'https://app.example/paid' } };
const ofStripe = (more: object) => ({ payments: { ...stripe, stripe: { ...stripe.stripe, ...more } } });
const ofKafka = (more: object) => ({ kafka: { brokers: ['127.0.0.1:1'], ...more } });
const bearer = (more: object) => ofKafka({ sasl: { mechanism: 'oauthbearer', ...more } });
const inFile: Readonly<Record<string, (name: string) => object>> = {
  'providers.main.apiKeyFile': (apiKeyFile) => ({ providers: { main: { ...provider, apiKeyFile } } }),
  'eventLog.connectionStringFile': (connectionStringFile) => ({
    eventLog: { kind: 'eventstoredb', connectionStringFile },
  }),
  'payments.stripe.secretKeyFile': (secretKeyFile) => ofStripe({ secretKeyEnv: undefined, secretKeyFile }),
  'payments.stripe.webhookSecrets.0.file': (file) => ofStripe({ webhookSecrets: [{ file }] }),
  'kafka.sasl.tokenFile': (tokenFile) => bearer({ tokenFile }),
  'kafka.ssl.caFile': (caFile) => ofKafka({ ssl: { caFile } }),
  'kafka.ssl.certificateFile': (certificateFile) => ofKafka({ ssl: { certificateFile, keyFile: 'none' } }),
  'kafka.ssl.keyFile': (keyFile) => ofKafka({ ssl: { keyFile, certificateFile: 'none' } }),
  'kafka.ssl.keyPassphraseFile': (keyPassphraseFile) =>
    ofKafka({ ssl: { keyPassphraseFile, keyFile: 'none', certificateFile: 'none' } }),
  'seals.keyFile': (keyFile) => ({ seals: { keyFile } }),
};

/** The key of seals is read by whoever signs. */
const { 'seals.keyFile': _readLater, ...readAtOnce } = inFile;

const configured = (settings: object): string => {
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data: join(folder, 'data'), ...settings }));
  return file;
};
const read = (settings: object) =>
  readConfiguration({ file: configured(settings), environment: { STRIPE_KEY }, callsProviders: true });

describe('a secret in place of the name of its file is refused by the setting, and not told', () => {
  it.each(Object.entries(readAtOnce))('of %s, beside every other fault', (setting, settings) => {
    for (const secret of SECRETS) {
      const both: { readonly providers?: object } = settings(secret);
      const faults = faultsOf(() => read({ ...both, providers: { other: provider, ...both.providers } }));
      expect(faults).toContain(`${setting}: ${FILE}`);
      expect(faults).toContain('providers.other: needs either apiKeyEnv or apiKeyFile');
      expect(faults.join()).not.toContain(secret);
    }
  });

  it('is read where it is there, whatever its name', () => {
    const names = [STRIPE_KEY, unsignedToken(60), '0f1e2d3c4b5a69788796a5b4c3d2e1f0', `folder/sk-${'aB3x'.repeat(6)}`];
    mkdirSync(join(folder, 'folder'), { recursive: true });
    for (const name of names) {
      writeFileSync(join(folder, name), 'the-key');
      const { providers, seals, kafka } = read({
        ...{ providers: { main: { ...provider, apiKeyFile: name } }, seals: { keyFile: name } },
        ...bearer({ tokenFile: name }),
      });
      expect(providers.main?.apiKey).toBe('the-key');
      expect([seals.key, kafka?.sasl]).toMatchObject([
        { file: join(folder, name) },
        { token: { file: join(folder, name) } },
      ]);
      rmSync(join(folder, name));
    }
  });

  it('is named where it is in a folder that is closed to this user, for it may be there', () => {
    const closed = join(folder, 'Keys of v2b');
    mkdirSync(closed);
    writeFileSync(join(closed, 'provider'), 'the-key');
    chmodSync(closed, 0o000);
    const uid = process.geteuid?.() ?? 0;
    // Nothing is closed to the root user.
    if (uid === 0) process.seteuid?.(65_534);
    try {
      const settings = { apiKeyFile: 'Keys of v2b/provider' };
      takeOutUntold(settings, folder);
      const faults: string[] = [];
      fromSecretFile(join(folder, settings.apiKeyFile), 'apiKeyFile', faults);
      expect(faults).toEqual([`apiKeyFile: ${join(closed, 'provider')} may not be read by this user`]);
    } finally {
      process.seteuid?.(uid);
      chmodSync(closed, 0o700);
    }
  });

  it('nor is it told by a command that does not read it, nor does it end that one', () => {
    const providers = { main: { ...provider, apiKeyFile: STRIPE_KEY } };
    const inFiles = { secretKeyFile: STRIPE_KEY, webhookSecrets: [{ file: STRIPE_KEY }] };
    const settings = {
      providers,
      metrics: { serve: { port: 0 } },
      ...ofStripe({ ...inFiles, secretKeyEnv: undefined }),
    };
    const file = configured({ ...settings, seals: { keyFile: STRIPE_KEY } });
    const read = readConfiguration({ file, environment: {}, callsProviders: false });
    expect(keysByName(read)).toEqual([
      { use: 'providers.main', name: 'the file that providers.main.apiKeyFile names' },
      { use: 'seals', name: 'the file that seals.keyFile names' },
      { use: 'payments.stripe', name: 'the file that payments.stripe.secretKeyFile names' },
      { use: 'payments.stripe.webhookSecrets', name: 'the file that payments.stripe.webhookSecrets names' },
    ]);
    expect(inspect([read, keysByName(read)], { depth: null })).not.toContain(STRIPE_KEY);
  });

  it('of the key of seals, by whoever reads it', () => {
    const key = sealKeySource(read({ seals: { keyFile: STRIPE_KEY } }));
    expect(faultsOf(() => key?.(false))).toEqual([`seals.keyFile: ${FILE}`]);
  });

  it('nor is a variable that may be one told by a backup, while one of capitals and one of words are', () => {
    const used = (apiKeyEnv: string) => {
      const file = configured({ providers: { main: { ...provider, apiKeyEnv } } });
      return keysByName(readConfiguration({ file, environment: {}, callsProviders: false })).find(
        ({ use }) => use === 'providers.main',
      );
    };
    expect(used('f1e2d3c4b5a69788796a5b4c3d2e1f00')?.name).toBe('the variable that is named there');
    for (const name of [LONG_VARIABLE, 'provider_key']) expect(used(name)?.name).toBe(name);
  });

  it('while a variable is told that is named in capitals, however long and with a digit', () => {
    expect(faultsOf(() => read({ providers: { main: { ...provider, apiKeyEnv: LONG_VARIABLE } } }))).toEqual([
      `providers.main.apiKeyEnv: the environment variable ${LONG_VARIABLE} is not set`,
    ]);
  });

  it.each(['./', '/opt/', '../bin/', 'bin/'])('nor is a program refused behind the folder %s', (before) => {
    const { kafka } = read(bearer({ tokenCommand: [before + STRIPE_KEY] }));
    expect(kafka?.sasl).toMatchObject({ token: { command: [resolve(folder, before + STRIPE_KEY)] } });
  });

  it('nor of the program that gives it, nor of its variable, where that is not looked for', async () => {
    expect(faultsOf(() => read(bearer({ tokenCommand: [unsignedToken(60), '-x'] })))).toEqual([
      'kafka.sasl.tokenCommand: expected a program and its arguments; what stands first looks like a secret itself, which does not belong there',
    ]);
    const config = configured(ofStripe({ secretKeyEnv: STRIPE_KEY }));
    const backup = await runHere('--config', config, 'ledger', 'backup', join(folder, 'backup'));
    expect(backup).toMatchObject({
      ...{ exitCode: 2, stdout: '', stderr: `gateway: ${config}:\n  payments.stripe.secretKeyEnv: ${VARIABLE}\n` },
    });
  });

  it('by serve, while a command that needs it not goes on', async () => {
    const kafka = {
      brokers: ['127.0.0.1:1'],
      ssl: { caFile: STRIPE_KEY, ...{ certificateFile: 'none', keyFile: 'none' } },
    };
    const sasl = { mechanism: 'oauthbearer', tokenFile: STRIPE_KEY };
    const settings = { ...ofStripe({ secretKeyEnv: undefined, secretKeyFile: STRIPE_KEY }), kafka: { ...kafka, sasl } };
    const config = configured(settings);
    const served = await runHere('--config', config, 'serve', '--host', '127.0.0.1');
    expect(served).toMatchObject({ exitCode: 2, stdout: '' });
    expect(served.stderr).toMatch(
      /^ {2}kafka\.ssl\.caFile: no file .*\n(.*\n)* {2}payments\.stripe\.secretKeyFile: no file /m,
    );
    const backup = join(temporaryFolder(), 'backup');
    for (const words of [
      ['account', 'open', '--email', 'bob@example.com'],
      ['account', 'list'],
      ['ledger', 'backup', backup],
    ])
      expect(await runHere('--config', config, ...words)).toMatchObject({
        ...{ exitCode: 0, stdout: expect.not.stringContaining(STRIPE_KEY) },
        stderr: expect.not.stringContaining(STRIPE_KEY),
      });
    expect(readFileSync(join(backup, 'manifest.json'), 'utf8')).not.toContain(STRIPE_KEY);
    const restore = ['ledger', 'restore', backup, '--from-topic', '--data', join(temporaryFolder(), 'restored')];
    for (const words of [['relay'], ['relay', 'fill', 'another'], restore]) {
      const { exitCode, stderr } = await runHere('--config', config, ...words);
      expect([exitCode, stderr]).toEqual([
        2,
        expect.stringContaining(`gateway: ${config}:\n  kafka.ssl.caFile: ${FILE}\n`),
      ]);
      expect(stderr).not.toContain(STRIPE_KEY);
    }
  });

  it('by doctor', async () => {
    const settings = {
      ...ofStripe({ secretKeyEnv: undefined, secretKeyFile: STRIPE_KEY }),
      seals: { keyFile: STRIPE_KEY },
    };
    const config = configured({ ...settings, ...bearer({ tokenFile: STRIPE_KEY }) });
    const { stdout, stderr } = await runHere('--config', config, 'doctor');
    for (const setting of ['payments.stripe.secretKeyFile', 'kafka.sasl.tokenFile', 'seals.keyFile'])
      expect(stdout + stderr).toContain(`${setting}: ${FILE}`);
    expect(stdout + stderr).not.toContain(STRIPE_KEY);
  });

  it('and what is amiss in the section itself ends every command, whether it needs the files or not', async () => {
    const kafka = ofKafka({ ssl: { certificateFile: 'none' }, sasl: { mechanism: 'oauthbearer' } });
    const { exitCode, stderr } = await runHere('--config', configured(kafka), 'account', 'list');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/\n {2}kafka\.ssl\.certificateFile: a client .*\n {2}kafka\.sasl: needs either /);
  });

  it('of the key file in a connection string', () => {
    const certificate = join(folder, 'certificate');
    writeFileSync(certificate, '');
    const files = `userCertFile=${encodeURIComponent(certificate)}&userKeyFile=${STRIPE_KEY}`;
    const eventLog = { kind: 'eventstoredb', connectionString: `esdb://a:2113?tls=true&${files}` };
    expect(faultsOf(() => read({ eventLog }))).toEqual([expect.stringContaining(`: userKeyFile: ${FILE}`)]);
  });

  it('of the next key of seals', async () => {
    const config = configured({ seals: { keyFile: 'seal-key.pem' } });
    await runHere('--config', config, 'account', 'open', '--email', 'ada@example.com');
    const rotated = await runHere('--config', config, 'ledger', 'keys', 'rotate', '--key-file', pem);
    expect(rotated).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringMatching(/^gateway: --key-file: /) });
    expect(rotated.stderr).toContain(FILE);
    expect(rotated.stderr).not.toContain(pem.split('\n')[1]);
  });

  it('while a path is told, as is a name that no secret has', () => {
    const names = [
      ...[
        'none',
        'keys/none.pem',
        '/run/secrets/none',
        '../none.key',
        'sk-none',
        'task-force-of-the-production-gateway',
        'disk-encryption-passphrase',
        '.ssh/id_ed25519',
        'openaiKey.pem',
        'OPENAI_KEY_2.txt',
        '~/none',
        '/none',
        'whsec.txt',
        'gateway-1.credential.txt',
        ...['secrets/OpenAI.key', 'secrets/APIKey.txt', 'k8s/openai', 'secrets/20261130-openai.key', 'openai-v2a.key'],
        ...['AnthropicAPIKey', 'eu-central-1b/OpenAIKey2.pem'],
      ],
      ...[`./${STRIPE_KEY}`, `/nix/store/${'a1'.repeat(16)}-openai-credential`],
      'the-credential-of-the-production-gateway-at-the-provider',
    ];
    for (const name of names)
      for (const [setting, settings] of Object.entries(readAtOnce))
        expect(faultsOf(() => read(settings(name)))).toContain(`${setting}: ${resolve(folder, name)} does not exist`);
  });
});
