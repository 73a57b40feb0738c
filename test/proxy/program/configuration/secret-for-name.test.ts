import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { faultsOf } from '../../../fixtures/faults-of.ts';
import { runHere } from '../../../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { unsignedToken } from '../../../kafka/secured-broker.ts';

const folder = temporaryFolder();
const FILE = 'expected the name of a file; what stands there looks like a secret itself, which does not belong there';
const VARIABLE = 'no environment variable has the name that stands there; a secret itself does not belong there';
const STRIPE_KEY = `sk_live_${'51HabcDEF'.repeat(3)}`;
const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const SECRETS = [
  `sk-${'aB3x'.repeat(6)}`,
  '-----BEGIN PRIVATE KEY-----\nMC4/CAQA',
  ...[`sk-ant-api03-${'aB3_'.repeat(20)}`, STRIPE_KEY, STRIPE_KEY.replace('sk_live', 'rk_test')],
  ...[`whsec_${'Mf1k'.repeat(8)}`, unsignedToken(60), '0123456789abcdef'.repeat(4), pem, `${'wJalr7'.repeat(9)}/b+=`],
];

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

const configured = (settings: object): string => {
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify({ data: join(folder, 'data'), ...settings }));
  return file;
};
const read = (settings: object) =>
  readConfiguration({ file: configured(settings), environment: { STRIPE_KEY }, callsProviders: true });

describe('a secret in place of the name of its file is refused by the setting, and not told', () => {
  it.each(Object.entries(inFile))('of %s', (setting, settings) => {
    for (const secret of SECRETS)
      expect(faultsOf(() => read(settings(secret)))).toEqual([
        `${setting}: ${FILE} (a file that is named so: with ./ before it)`,
      ]);
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

  it.each([
    ['serve', '--host', '127.0.0.1'],
    ['account', 'list'],
    ['ledger', 'backup', join(folder, 'backup')],
  ])('by %s %s', async (...words) => {
    const config = configured(ofStripe({ secretKeyEnv: undefined, secretKeyFile: STRIPE_KEY }));
    const { exitCode, stdout, stderr } = await runHere('--config', config, ...words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(`gateway: ${config}:\n  payments.stripe.secretKeyFile: ${FILE}`);
    expect(stderr).not.toContain(STRIPE_KEY);
  });

  it('by doctor', async () => {
    const config = configured(ofStripe({ secretKeyEnv: undefined, secretKeyFile: STRIPE_KEY }));
    const { stdout, stderr } = await runHere('--config', config, 'doctor');
    expect(stdout + stderr).toContain(`payments.stripe.secretKeyFile: ${FILE}`);
    expect(stdout + stderr).not.toContain(STRIPE_KEY);
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
        'whsec.txt',
        'gateway-1.credential.txt',
      ],
      ...[`./${STRIPE_KEY}`, `/nix/store/${'a1'.repeat(16)}-openai-credential`],
      'the-credential-of-the-production-gateway-at-the-provider',
    ];
    const { 'seals.keyFile': _readLater, ...readAtOnce } = inFile;
    for (const name of names)
      for (const [setting, settings] of Object.entries(readAtOnce))
        expect(faultsOf(() => read(settings(name)))).toContain(`${setting}: ${resolve(folder, name)} does not exist`);
  });
});
