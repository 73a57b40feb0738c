import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Authority } from './certificates.ts';
import { startRealBrokers } from './real-brokers.ts';

/** A real broker as managed services have them; its topics are made through the listener that asks for nothing. */
export interface SecuredBroker {
  /** host:port */
  readonly open: string;
  /** TLS; TLS with certificates of clients; TLS with credentials (PLAIN) or tokens (OAUTHBEARER); TLS with SCRAM. */
  readonly tls: string;
  readonly mutual: string;
  readonly credentials: string;
  readonly scram: string;
  /** The files of its authority. */
  readonly authority: Authority;
  readonly folder: string;
  stop(): Promise<void>;
}

export const USER = { name: 'relay', password: 'right' } as const;

/** Null where Kafka was not fetched. */
export async function startSecuredBroker(): Promise<SecuredBroker | null> {
  const folder = mkdtempSync(join(tmpdir(), 'secured-'));
  const authority = new Authority();
  const broker = authority.certify('broker');
  const keyStore = join(folder, 'broker.pem');
  const trustStore = join(folder, 'ca.pem');
  writeFileSync(keyStore, broker.key + broker.certificate);
  writeFileSync(trustStore, authority.certificate);
  const started = await startRealBrokers(1, {
    protocols: { TLS: 'SSL', MUTUAL: 'SSL', CREDENTIALS: 'SASL_SSL', SCRAM: 'SASL_SSL' },
    properties: {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': keyStore,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': trustStore,
      'listener.name.mutual.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': 'PLAIN,OAUTHBEARER',
      'listener.name.credentials.plain.sasl.jaas.config': jaas('plain.PlainLoginModule', {
        [`user_${USER.name}`]: USER.password,
      }),
      'listener.name.credentials.oauthbearer.sasl.jaas.config': jaas('oauthbearer.OAuthBearerLoginModule', {
        unsecuredLoginStringClaim_sub: 'broker',
      }),
      'listener.name.scram.sasl.enabled.mechanisms': 'SCRAM-SHA-256,SCRAM-SHA-512',
      'listener.name.scram.scram-sha-256.sasl.jaas.config': jaas('scram.ScramLoginModule', {}),
      'listener.name.scram.scram-sha-512.sasl.jaas.config': jaas('scram.ScramLoginModule', {}),
      // A session ends with its token, or after an hour.
      'listener.name.credentials.connections.max.reauth.ms': 3_600_000,
    },
  });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  if (started === null) {
    remove();
    return null;
  }
  const at = (listener: string): string => started.listeners[listener]?.[0] ?? '';
  return {
    open: at('PLAINTEXT'),
    tls: at('TLS'),
    mutual: at('MUTUAL'),
    credentials: at('CREDENTIALS'),
    scram: at('SCRAM'),
    authority,
    folder,
    stop: async () => {
      await started.stop();
      remove();
    },
  };
}

const jaas = (module: string, options: Record<string, string>): string =>
  `${[
    `org.apache.kafka.common.security.${module} required`,
    ...Object.entries(options).map(([name, value]) => `${name}="${value}"`),
  ].join(' ')};`;

/** A JWT that nobody has signed, which the broker takes for what it says. */
export function unsignedToken(seconds: number, nowMs = Date.now()): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(nowMs / 1000);
  return `${part({ alg: 'none' })}.${part({ sub: 'relay', iat: now - 1, exp: now + seconds })}.`;
}
