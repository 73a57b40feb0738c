import { decodeClaimMetadata, decodeEvent } from '../../contracts/event-codec.ts';
import { BASE_FORMS, type Forms, formsBeyond, formsTogether } from '../../contracts/event-forms.ts';
import type { EventLog } from '../../contracts/event-log.ts';
import { type Position, relayStream } from '../../contracts/ids.ts';
import { UnreadableEventError } from '../../contracts/unreadable-event-error.ts';

/** What the log says of a process that reads it. */
export interface SeenClaim {
  /** A proxy's name, or `relay of <topic>`. */
  readonly proxy: string;
  readonly epoch: number;
  readonly atMs: number;
  /** With what every program reads. */
  readonly reads: Forms;
  /** It says that its process has stopped in order. */
  readonly hasEnded: boolean;
  readonly position: Position;
}

export interface FormsStanding {
  /** The newest claim of each name whose process has not said that it stopped. */
  readonly live: readonly SeenClaim[];
  /** Those of them that do not read all that is asked for. */
  readonly inTheWay: readonly SeenClaim[];
  /** Since when every live claim reads it: when the last one that did not was over. Null where nobody has claimed anything. */
  readonly sinceMs: number | null;
}

/**
 * The claims of all proxies, in the log's order.
 * @param after exclusive; null is the log's beginning
 * @throws EventLogError, UnreadableEventError
 */
export async function readClaims(log: EventLog, after: Position | null = null): Promise<SeenClaim[]> {
  const claims: SeenClaim[] = [];
  for await (const recorded of log.readAll({ after, category: 'proxy' })) {
    const event = decodeEvent(recorded);
    if (event.type !== 'ProxyClaimed')
      throw new UnreadableEventError(`${recorded.stream}: ${event.type} does not belong there`);
    const { recordedAt, reads, ended } = decodeClaimMetadata(recorded);
    const { proxy, epoch } = event.data;
    const atMs = Date.parse(recordedAt);
    const { position } = recorded;
    claims.push({ proxy, epoch, atMs, reads: formsTogether(BASE_FORMS, reads), hasEnded: ended, position });
  }
  return claims;
}

/**
 * What the relay of a topic has last said; null where there was none. It is over where it was released, or has run out: a
 * relay that publishes renews it. A relay that stands by says nothing, and publishes nothing.
 * @throws EventLogError, UnreadableEventError
 */
export async function readRelayClaim(log: EventLog, topic: string, nowMs: number): Promise<SeenClaim | null> {
  for await (const recorded of log.readStream(relayStream(topic), { direction: 'backwards', limit: 1 })) {
    const event = decodeEvent(recorded);
    if (event.type !== 'RelayClaimed' && event.type !== 'RelayCheckpointed' && event.type !== 'RelayReleased')
      throw new UnreadableEventError(`${recorded.stream}: ${event.type} does not belong there`);
    const { recordedAt, reads } = decodeClaimMetadata(recorded);
    return {
      ...{ proxy: `relay of ${topic}`, epoch: event.data.epoch, atMs: Date.parse(recordedAt) },
      ...{ reads: formsTogether(BASE_FORMS, reads), position: recorded.position },
      hasEnded: event.type === 'RelayReleased' || Date.parse(event.data.until) <= nowMs,
    };
  }
  return null;
}

/** @param claims in the log's order: a claim is over with the next one of its name, for a process takes over a name or ends */
export function standingOf(claims: readonly SeenClaim[], asked: Forms): FormsStanding {
  const newest = new Map<string, SeenClaim>();
  let sinceMs = claims[0]?.atMs ?? null;
  for (const claim of claims) {
    const before = newest.get(claim.proxy);
    if (before !== undefined && !before.hasEnded && lacks(before, asked)) sinceMs = Math.max(sinceMs ?? 0, claim.atMs);
    newest.set(claim.proxy, claim);
  }
  const live = [...newest.values()].filter(({ hasEnded }) => !hasEnded);
  return { live, inTheWay: live.filter((claim) => lacks(claim, asked)), sinceMs };
}

const lacks = ({ reads }: SeenClaim, asked: Forms): boolean => Object.keys(formsBeyond(asked, reads)).length > 0;
