import type { IncomingHttpHeaders } from 'node:http';
import { type Refusal, refusal } from '../contracts/errors.ts';
import { headerOf } from './header.ts';

const LENGTH_MAX = 64;

/**
 * `anthropic-version`, which goes upstream as it came; null where it was not sent. What no version can be is refused here:
 * a provider that refuses a header line does not say which, and its caller would be told to try again (interface, 1.6).
 */
export function protocolVersionOf(headers: IncomingHttpHeaders): { readonly version: string | null } | Refusal {
  const version = headerOf(headers, 'anthropic-version');
  if (version === null || (version.length <= LENGTH_MAX && /^[\x20-\x7e]*$/.test(version))) return { version };
  return refusal(
    'invalid_request',
    `anthropic-version: expected at most ${LENGTH_MAX} printable ASCII characters, such as 2023-06-01`,
  );
}
