import shared from '@eventstore/db-client/generated/shared_pb.js';
import streamsService from '@eventstore/db-client/generated/streams_grpc_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { ClientWritableStream } from '@grpc/grpc-js';
import { credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FakeEventStore, startFakeEventStore } from './fake-event-store.ts';

let store: FakeEventStore;
let client: streamsService.StreamsClient;

beforeEach(async () => {
  store = await startFakeEventStore();
  client = new streamsService.StreamsClient(`127.0.0.1:${store.port}`, credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await store.stop();
});

/** The first event of an append that has more of them. */
function beginAppend(stream = 'account-half'): {
  call: ClientWritableStream<streams.AppendReq>;
  ended: Promise<Error | null>;
} {
  const { promise: ended, resolve } = Promise.withResolvers<Error | null>();
  const call = client.append((error) => resolve(error));
  const name = new shared.StreamIdentifier().setStreamName(Buffer.from(stream));
  const options = new streams.AppendReq.Options().setStreamIdentifier(name).setNoStream(new shared.Empty());
  call.write(new streams.AppendReq().setOptions(options));
  const event = new streams.AppendReq.ProposedMessage()
    .setId(new shared.UUID().setString('019a5b3c-1111-7000-8000-000000000000'))
    .setData(Buffer.from('{}'))
    .setCustomMetadata(Buffer.from('{}'));
  event.getMetadataMap().set('type', 'UsageRecorded').set('content-type', 'application/json');
  call.write(new streams.AppendReq().setProposedMessage(event));
  return { call, ended };
}

/** A whole append after it on the same connection: when that is answered, what went before has come. */
async function untilHeard(): Promise<void> {
  const { call, ended } = beginAppend('account-whole');
  call.end();
  expect(await ended).toBeNull();
}

const ofAccount = () => store.events().filter(({ stream }) => stream === 'account-half');

it('stores nothing of an append whose connection is reset before its end', async () => {
  const { ended } = beginAppend();
  await untilHeard();
  store.cutConnections();
  expect(await ended).toBeInstanceOf(Error);
  expect(ofAccount()).toEqual([]);
});

it('stores nothing of an append whose server is killed before its end', async () => {
  const { ended } = beginAppend();
  await untilHeard();
  await store.restart();
  expect(await ended).toBeInstanceOf(Error);
  expect(ofAccount()).toEqual([]);
});

it('stores an append that comes to its end', async () => {
  const { call, ended } = beginAppend();
  call.end();
  expect(await ended).toBeNull();
  expect(ofAccount()).toHaveLength(1);
});
