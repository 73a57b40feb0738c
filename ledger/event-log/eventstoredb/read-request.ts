import type { Position, Revision } from '../../../contracts/ids.ts';
import { EVENTSTOREDB_LIMITS } from './limits.ts';
import { streamIdentifier } from './stream-identifier.ts';
import { Empty, ReadReq, type ReadRequest } from './streams-wire.ts';

const { Options } = ReadReq;
type Options = InstanceType<typeof Options>;
type Direction = 'forwards' | 'backwards';

/** `from` is inclusive; null is the first event forwards, the last one backwards. */
export function streamRequest(
  stream: string,
  { direction, from, limit }: { direction: Direction; from: Revision | null; limit: number },
): ReadRequest {
  const place = new Options.StreamOptions().setStreamIdentifier(streamIdentifier(stream));
  if (from !== null) place.setRevision(String(from));
  else if (direction === 'forwards') place.setStart(new Empty());
  else place.setEnd(new Empty());
  return request(directed(direction).setStream(place).setNoFilter(new Empty()).setCount(String(limit)));
}

/** Forwards a position is inclusive, unlike a subscription's; backwards from the end. */
export function allRequest(direction: Direction, from: Position | null, filters: readonly string[]): ReadRequest {
  const place = new Options.AllOptions();
  if (from !== null) place.setPosition(wirePosition(from));
  else if (direction === 'forwards') place.setStart(new Empty());
  else place.setEnd(new Empty());
  return request(filtered(directed(direction).setAll(place), filters).setCount(String(Number.MAX_SAFE_INTEGER)));
}

/** Everything after a position, exclusive, and then what comes. */
export function subscribeRequest(after: Position | null, filters: readonly string[]): ReadRequest {
  const place = new Options.AllOptions();
  if (after === null) place.setStart(new Empty());
  else place.setPosition(wirePosition(after));
  const subscription = new Options.SubscriptionOptions();
  return request(filtered(directed('forwards').setAll(place), filters).setSubscription(subscription));
}

/** Events of the server's own types after a position, exclusive, and then what comes; whose streams they are of is not asked. */
export function hidingRequest(after: Position | null, types: readonly string[]): ReadRequest {
  const place = new Options.AllOptions();
  if (after === null) place.setStart(new Empty());
  else place.setPosition(wirePosition(after));
  return request(ofTypes(place, types).setSubscription(new Options.SubscriptionOptions()));
}

/** The same from the beginning to what is the end by now. */
export function hidingSoFarRequest(types: readonly string[]): ReadRequest {
  const place = new Options.AllOptions().setStart(new Empty());
  return request(ofTypes(place, types).setCount(String(Number.MAX_SAFE_INTEGER)));
}

function ofTypes(place: InstanceType<typeof Options.AllOptions>, types: readonly string[]): Options {
  const prefixes = new Options.FilterOptions.Expression().setPrefixList([...types]);
  const filter = new Options.FilterOptions().setEventType(prefixes);
  return directed('forwards').setAll(place).setFilter(considered(filter));
}

function request(options: Options): ReadRequest {
  const ids = new Options.UUIDOption().setString(new Empty());
  return new ReadReq().setOptions(options.setUuidOption(ids).setResolveLinks(false));
}

// Directions are an enumeration of generated code.
const directed = (direction: Direction): Options => new Options().setReadDirection(direction === 'forwards' ? 0 : 1);

function filtered(options: Options, filters: readonly string[]): Options {
  const prefixes = new Options.FilterOptions.Expression().setPrefixList([...filters]);
  return options.setFilter(considered(new Options.FilterOptions().setStreamIdentifier(prefixes)));
}

const considered = (filter: InstanceType<typeof Options.FilterOptions>): InstanceType<typeof Options.FilterOptions> =>
  filter.setCount(new Empty()).setCheckpointintervalmultiplier(EVENTSTOREDB_LIMITS.checkpointInterval);

const wirePosition = (at: Position): InstanceType<typeof Options.Position> =>
  new Options.Position().setCommitPosition(String(at)).setPreparePosition(String(at));
