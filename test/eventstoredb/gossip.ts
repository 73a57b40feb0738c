import { randomUUID } from 'node:crypto';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { Endpoint } from './faults.ts';
import type { SeenCalls } from './seen-calls.ts';

/** The states of a node that a client meets. Their numbers on the wire are not in the order one would guess. */
const STATES = {
  unknown: 2,
  catchingUp: 4,
  follower: 6,
  leader: 8,
  shutdown: 11,
  readOnlyLeaderless: 12,
  readOnlyReplica: 14,
  resigningLeader: 15,
} as const;

interface Member {
  readonly host: string;
  readonly port: number;
  readonly state: keyof typeof STATES;
  readonly alive: boolean;
}

/** What the node says of its cluster. */
export class Gossip {
  /** Null: the node alone, as leader. */
  members: readonly Member[] | null = null;
}

interface AskedNode {
  readonly gossip: Gossip;
  readonly seen: SeenCalls;
  readonly endpoint: Endpoint;
}

/** Gossip.Read, which clients ask with `esdb+discover://` or with several hosts. */
export function gossipCall(node: AskedNode): handleUnaryCall<shared.Empty, gossip.ClusterInfo> {
  return (call, callback) => {
    node.seen.record('Gossip', call.metadata);
    const members = node.gossip.members ?? [{ ...node.endpoint, state: 'leader', alive: true } satisfies Member];
    callback(null, new gossip.ClusterInfo().setMembersList(members.map(memberInfo)));
  };
}

function memberInfo({ host, port, state, alive }: Member): gossip.MemberInfo {
  return new gossip.MemberInfo()
    .setInstanceId(new shared.UUID().setString(randomUUID()))
    .setTimeStamp(String(Date.now()))
    .setState(STATES[state])
    .setIsAlive(alive)
    .setHttpEndPoint(new gossip.EndPoint().setAddress(host).setPort(port));
}
