import { EventLogError } from '../../../contracts/event-log.ts';
import { type AppendAnswer, type AppendOnServer, appended, conflict, unanswered } from './append-answer.ts';
import type { Connection } from './connection.ts';
import { trailerOf } from './fault.ts';
import { EVENTSTOREDB_LIMITS, type EventStoreDbDeadlines } from './limits.ts';
import { positionOf, wholeNumber } from './log-position.ts';
import { streamIdentifier } from './stream-identifier.ts';
import { AppendReq, type AppendRequest, type AppendResponse, Empty, UUID } from './streams-wire.ts';

/**
 * One append by a call of its own, for servers that do not know the one over which many go (batch-appends.ts). The server applies the
 * append table of contracts/event-log.ts for numeric revisions.
 * @throws raw gRPC errors, and EventLogError
 */
export async function append(
  connection: Connection,
  one: AppendOnServer,
  { connectMs, appendMs }: EventStoreDbDeadlines,
): Promise<AppendAnswer> {
  try {
    return await connection.call({ connectMs, deadlineMs: appendMs, requiresLeader: true }, (grpc, args) => {
      const { promise, resolve, reject } = Promise.withResolvers<AppendAnswer>();
      const call = grpc.append(...args, (error, response) => {
        if (error !== null) reject(error);
        else settle(() => answerOf(response, one), resolve, reject);
      });
      // The callback is told the same.
      call.on('error', () => undefined);
      const timer = setTimeout(() => {
        call.cancel();
        reject(unanswered(appendMs));
      }, appendMs + EVENTSTOREDB_LIMITS.deadlineSlackMs);
      for (const request of requestsOf(one)) call.write(request);
      call.end();
      return promise.finally(() => clearTimeout(timer));
    });
  } catch (error) {
    if (trailerOf(error, 'exception') === 'wrong-expected-version')
      return conflict(wholeNumber(trailerOf(error, 'actual-version') ?? '-1'));
    throw error;
  }
}

/** At most LIMITS.appendBytesMax together, so that they need not wait for one another. */
function* requestsOf({ onServer, expected, events }: AppendOnServer): Generator<AppendRequest> {
  const options = new AppendReq.Options().setStreamIdentifier(streamIdentifier(onServer));
  if (expected === -1) options.setNoStream(new Empty());
  else options.setRevision(String(expected));
  yield new AppendReq().setOptions(options);
  for (const { id, type, data, metadata } of events) {
    const message = new AppendReq.ProposedMessage()
      .setId(new UUID().setString(id))
      .setData(Buffer.from(data))
      .setCustomMetadata(Buffer.from(metadata));
    message.getMetadataMap().set('type', type).set('content-type', 'application/json');
    yield new AppendReq().setProposedMessage(message);
  }
}

function answerOf(response: AppendResponse, one: AppendOnServer): AppendAnswer {
  const refused = response.getWrongExpectedVersion();
  if (refused !== undefined)
    return conflict(refused.hasCurrentRevision() ? wholeNumber(refused.getCurrentRevision()) : -1);
  const success = response.getSuccess();
  if (success === undefined) throw new EventLogError('ambiguous', 'EventStoreDB answered an append with nothing');
  const at = success.getPosition();
  const position =
    at === undefined ? null : positionOf(Number(at.getCommitPosition()), Number(at.getPreparePosition()));
  return appended(one, wholeNumber(success.getCurrentRevision()), position);
}

/** What a callback throws would end the process. */
function settle<Value>(make: () => Value, resolve: (value: Value) => void, reject: (error: unknown) => void): void {
  try {
    resolve(make());
  } catch (error) {
    reject(error);
  }
}
