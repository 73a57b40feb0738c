import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A certificate and its private key, both in PEM. */
interface Certified {
  readonly certificate: string;
  readonly key: string;
  readonly privateKey: KeyObject;
}

/** An authority of a test's own, whose certificates hold for 127.0.0.1, as servers and as clients. */
export class Authority implements Certified {
  readonly certificate: string;
  readonly key: string;
  readonly privateKey: KeyObject;
  readonly #name: string;
  #certified = 0;

  constructor(name = 'authority of a test') {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    this.#name = name;
    this.privateKey = privateKey;
    this.key = pemOf(privateKey);
    this.certificate = this.#sign({ subject: name, publicKey, extensions: [AUTHORITY] });
  }

  certify(subject: string): Certified {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const certificate = this.#sign({ subject, publicKey, extensions: [LOOPBACK] });
    return { certificate, key: pemOf(privateKey), privateKey };
  }

  /** X.509, RFC 5280, 4.1 */
  #sign({ subject, publicKey, extensions }: Certification): string {
    const toBeSigned = sequence(
      der(0xa0, integer(2)),
      integer(++this.#certified),
      ECDSA_WITH_SHA256,
      nameOf(this.#name),
      sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231235959Z'))),
      nameOf(subject),
      publicKey.export({ type: 'spki', format: 'der' }),
      der(0xa3, sequence(...extensions)),
    );
    const signature = sign('sha256', toBeSigned, this.privateKey);
    const certificate = sequence(toBeSigned, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
    const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
    return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  }
}

interface Certification {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
}

const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** DER: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const integer = (value: number): Buffer => der(0x02, Buffer.from([value]));
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(text)))));

const ECDSA_WITH_SHA256 = sequence(objectId('2a8648ce3d040302'));
/** basicConstraints, critical: an authority. */
const AUTHORITY = sequence(
  objectId('551d13'),
  der(0x01, Buffer.from([0xff])),
  der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
);
/** subjectAltName: 127.0.0.1 */
const LOOPBACK = sequence(objectId('551d11'), der(0x04, sequence(der(0x87, Buffer.from([127, 0, 0, 1])))));
