import features from '@eventstore/db-client/generated/serverfeatures_pb.js';
import type shared from '@eventstore/db-client/generated/shared_pb.js';
import type { handleUnaryCall } from '@grpc/grpc-js';
import * as errors from './rpc-errors.ts';
import type { ServerNode } from './server-node.ts';

const SERVER_VERSION = '23.10.1.0';
const STREAMS = 'event_store.client.streams.streams';

/** ServerFeatures.GetSupportedMethods, which the client asks before its first append. */
export function capabilitiesCall(node: ServerNode): handleUnaryCall<shared.Empty, features.SupportedMethods> {
  return (call, callback) => {
    node.seen.record('GetSupportedMethods', call.metadata);
    switch (node.faults.ofCapabilities()) {
      case 'refuse':
        return callback(errors.unavailable());
      case 'internal':
        return callback(errors.internal());
      case 'unimplemented':
        return callback(errors.unimplemented());
      case 'stall':
        return;
      case 'ok':
        callback(null, supportedMethods(node.batchAppend));
    }
  };
}

function supportedMethods(batchAppend: boolean): features.SupportedMethods {
  const methods = ['read', 'append', 'delete', 'tombstone'].map((name) => method(STREAMS, name));
  if (batchAppend) methods.push(method(STREAMS, 'batchappend').setFeaturesList(['deadline_duration']));
  methods.push(method('event_store.client.gossip.gossip', 'read'));
  return new features.SupportedMethods().setEventStoreServerVersion(SERVER_VERSION).setMethodsList(methods);
}

const method = (service: string, name: string): features.SupportedMethod =>
  new features.SupportedMethod().setServiceName(service).setMethodName(name);
