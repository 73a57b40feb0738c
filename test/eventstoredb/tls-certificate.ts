import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface TlsCertificate {
  /** PEM. */
  readonly key: string;
  /** PEM; its own authority. */
  readonly certificate: string;
  /** Where the certificate lies, for `tlsCAFile=` of a connection string. */
  readonly certificateFile: string;
}

/** A self-signed certificate for 127.0.0.1 and localhost, good for two days. Made by the program `openssl`. */
export function makeTlsCertificate(): TlsCertificate {
  const folder = mkdtempSync(join(tmpdir(), 'event-store-tls-'));
  const keyFile = join(folder, 'key.pem');
  const certificateFile = join(folder, 'certificate.pem');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost', '-days', '2'];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  execFileSync('openssl', ['req', '-x509', ...key, ...subject, '-out', certificateFile], { stdio: 'pipe' });
  return {
    key: readFileSync(keyFile, 'utf8'),
    certificate: readFileSync(certificateFile, 'utf8'),
    certificateFile,
  };
}
