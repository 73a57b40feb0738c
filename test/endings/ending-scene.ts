import { expect, onTestFinished } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { get } from '../fixtures/gateway/call.ts';
import { recorded } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { text } from '../upstream/content.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** Of the test that runs, from its `start` on. */
export let upstream: Upstream;
export let gateway: TestGateway;

export async function start(options: TestGatewayOptions = {}): Promise<void> {
  ({ upstream, gateway } = await startOnUpstream(onTestFinished, options));
}

/** The next life of a gateway that was stopped, on its folder. */
export async function startAgain(): Promise<void> {
  await gateway.log.close();
  const next = endedLater(await startTestGateway({ upstreamUrl: upstream.url, data: gateway.data }));
  gateway = next;
}

export const tokens = { input: 1_000, output: 40, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };
export const events: readonly Buffer[] = streamEvents({ tokens, blocks: [text('one ', 'two ', 'three ', 'four')] });
export const partOfStream = events.slice(0, 5);

/** Waits until the ledger has a number of usages: for endings that the client has no sign of. */
export async function usagesReach(count: number) {
  await expect.poll(async () => (await recorded(gateway)).usages.length).toBe(count);
  return recorded(gateway);
}

export const me = async () =>
  (await get(gateway, '/me')).body as { readonly held_credits: number; readonly available_credits: number };

export const heldCredits = async (): Promise<number> => (await me()).held_credits;

export async function nothingIsHeld(): Promise<void> {
  await expect.poll(heldCredits).toBe(0);
}

/** The connection's end stands before these in the gateway's queue of what the network has brought. */
export async function leavingIsSeen(): Promise<void> {
  for (let round = 0; round < 5; round++) await heldCredits();
}
