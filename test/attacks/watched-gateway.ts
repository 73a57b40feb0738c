import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import { postMessage } from '../gateway/post-message.ts';
import { startTestGateway, TEST_CATALOG, type TestGateway, type TestGatewayOptions } from '../gateway/start-gateway.ts';
import { openAccount } from '../proxy/fixtures/open-account.ts';
import { startUpstream } from '../upstream/upstream.ts';
import { heldBy } from './watcher.ts';

export interface WatchedGateway extends TestGateway {
  /** The last test of a file: whoever paid beside all the others was served, and nothing is left of them. */
  expectServedBeside(): Promise<void>;
}

const MODEL = 'opal-watched';
const PAUSE_MS = 20;
/** Connections that a test's own client keeps for a while are in it, and what this process has loaded meanwhile. */
const DESCRIPTORS_MORE_MAX = 50;
const MEMORY_MORE_MIB_MAX = 500;

/**
 * A gateway of a test that attacks it, in this process, with a watcher beside: an account of its own pays for one request
 * after another, at a provider of its own, so that no test counts them, and a probe asks whether the gateway is healthy.
 */
export async function startWatchedGateway(
  options: TestGatewayOptions & { readonly upstreamUrl: string },
): Promise<WatchedGateway> {
  const { upstreamUrl, provider, settings } = options;
  const upstream = await startUpstream();
  const providerAt = (baseUrl: string) => ({ protocol: 'messages', baseUrl, apiKeyEnv: 'TEST_UPSTREAM_KEY' });
  const providers = { test: { ...providerAt(upstreamUrl), ...provider }, watched: providerAt(upstream.url) };
  const [, medium] = TEST_CATALOG.models;
  const watched = { ...medium, id: MODEL, upstreams: [{ provider: 'watched', model: MODEL }] };
  const catalog = { models: [...TEST_CATALOG.models, watched] };
  const gateway = await startTestGateway({ ...options, catalog, settings: { ...settings, providers } });
  const { key } = await openAccount(gateway, { credits: 1_000_000_000_000n });
  const before = heldBy(process.pid);
  const statuses = { paid: [] as number[], healthy: [] as number[] };
  let isOver = false;
  const watch = async (): Promise<void> => {
    for (; !isOver; await setTimeout(PAUSE_MS)) {
      const answer = await postMessage({ url: gateway.url, key }, { model: MODEL });
      await answer.rest();
      statuses.paid.push(answer.status);
      const probe = await fetch(`${gateway.url}/healthz`);
      await probe.arrayBuffer();
      statuses.healthy.push(probe.status);
    }
  };
  const watching = watch();
  // What it throws is told where it is waited for.
  watching.catch(() => undefined);
  const end = (): Promise<void> => {
    isOver = true;
    return watching;
  };
  return {
    ...gateway,
    expectServedBeside: async () => {
      await end();
      expect(new Set(statuses.paid)).toEqual(new Set([200]));
      expect(new Set(statuses.healthy)).toEqual(new Set([200]));
      await expect.poll(() => gateway.gateway.bodyBytes).toBe(0);
      await expect
        .poll(() => heldBy(process.pid).descriptors)
        .toBeLessThanOrEqual(before.descriptors + DESCRIPTORS_MORE_MAX);
      expect(heldBy(process.pid).residentMib).toBeLessThan(before.residentMib + MEMORY_MORE_MIB_MAX);
    },
    stop: async () => {
      await end().finally(() => gateway.stop());
      await upstream.close();
    },
  };
}
