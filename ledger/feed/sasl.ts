import type { AuthenticationProviderArgs, Mechanism, SASLOptions } from 'kafkajs';
import type { KafkaSasl } from '../../contracts/kafka-configuration.ts';
import { onOneLine } from '../../contracts/printable.ts';
import { type BearerTokens, endOf } from './bearer-tokens.ts';
import { faultTypes, reasonOf } from './kafka-fault.ts';

/** How the driver is to say who asks. @param tokens where the mechanism takes them */
export function saslOf(sasl: KafkaSasl, tokens: BearerTokens | null): SASLOptions | Mechanism {
  if (sasl.mechanism !== 'oauthbearer') {
    const { mechanism, username, password } = sasl;
    return { mechanism, username, password } as SASLOptions;
  }
  if (tokens === null) throw new TypeError('OAUTHBEARER needs tokens');
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({ authenticate: () => sendToken(saslAuthenticate, tokens) }),
  };
}

/** A broker has refused the token. */
class TokenRefusedError extends Error {
  override readonly name = 'TokenRefusedError';
}

/**
 * RFC 7628. A broker that refuses a token answers, without an error, with JSON that says so, and waits to be asked why: the
 * driver's own provider takes that for success, and the connection ends without a word at the next request.
 */
async function sendToken(
  saslAuthenticate: AuthenticationProviderArgs['saslAuthenticate'],
  tokens: BearerTokens,
): Promise<void> {
  const token = await tokens.token();
  const refusal = await saslAuthenticate<string>({
    request: { encode: () => sized(`n,,\u0001auth=Bearer ${token}\u0001\u0001`) },
    response: { decode: withoutSize, parse: (bytes) => bytes.toString('utf8') },
  }).catch((error: unknown) => {
    if (faultTypes(error).includes('SASL_AUTHENTICATION_FAILED')) return reasonOf(error);
    throw error;
  });
  if (typeof refusal !== 'string' || refusal === '') return;
  tokens.forget(token);
  throw new TokenRefusedError(`SASL OAUTHBEARER failed: ${onOneLine(refusal)}${overSince(token)}`);
}

function overSince(token: string): string {
  const endMs = endOf(token);
  return endMs === null || endMs > Date.now() ? '' : `; the token was over at ${new Date(endMs).toISOString()}`;
}

/** The driver passes bytes on with their length before them. */
function sized(text: string): Buffer {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text));
  bytes.writeInt32BE(bytes.length - 4);
  bytes.write(text, 4);
  return bytes;
}

const withoutSize = (bytes: Buffer): Buffer => bytes.subarray(4);
