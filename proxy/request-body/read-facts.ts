import type { IncomingHttpHeaders } from 'node:http';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { RequestCounts } from '../request-counts.ts';
import { type BodyAsker, BodyNotReadError, type BodyThreads } from './body-threads.ts';
import type { RequestBytes } from './request-bytes.ts';
import { type FactsByKind, type FactsKind, factsOf } from './request-facts.ts';

interface BodyToRead extends BodyAsker {
  readonly bytes: RequestBytes;
  readonly headers: IncomingHttpHeaders;
  /** Tokens of the widest context window that it may be for. */
  readonly windowMax: () => number;
}

interface ReadingParts {
  readonly threads: BodyThreads;
  readonly counts: Pick<RequestCounts, 'refusedByBound'>;
}

/** A short body is read at once, one that is long in bytes or values by another thread: the same facts either way. */
export function readFacts<K extends FactsKind>(
  kind: K,
  body: BodyToRead,
  parts: ReadingParts,
): FactsByKind[K] | Refusal | Promise<FactsByKind[K] | Refusal> {
  const { bytes, headers } = body;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding !== 'identity')
    return invalid(`content-encoding: ${JSON.stringify(encoding)} is not supported; send the body as it is`);
  const transfer = headers['transfer-encoding'];
  // Node takes only the chunks apart (RFC 9112, section 6.1; of its 501 the interface's table has nothing).
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked')
    return invalid(
      `transfer-encoding: ${JSON.stringify(transfer)} is not supported; send the body as it is, or in chunks`,
    );
  if (bytes.length === 0) return invalid('the body is empty; expected a JSON object');
  return bytes.isShort ? factsOf(kind, bytes.whole, null) : readInThread(kind, body, parts);
}

async function readInThread<K extends FactsKind>(
  kind: K,
  body: BodyToRead,
  { threads, counts }: ReadingParts,
): Promise<FactsByKind[K] | Refusal> {
  const windowMax = body.windowMax();
  try {
    return await body.bytes.lend((pieces) => threads.facts(kind, { pieces, windowMax }, body));
  } catch (error) {
    if (!(error instanceof BodyNotReadError)) throw error;
    if (error.isOfShare) counts.refusedByBound('bodiesWaiting');
    return refusal(
      error.isOfShare ? 'rate_limited' : 'gateway_overloaded',
      `the body could not be read: ${error.message}`,
    );
  }
}

const invalid = (message: string): Refusal => refusal('invalid_request', message);
