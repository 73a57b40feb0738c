import { expect, test } from 'vitest';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';

test('models without a provider are logged at the start and counted; retired ones, which nobody can call, are not', async () => {
  const before = await startTestGateway({ upstreamUrl: 'http://127.0.0.1:1' });
  const { data } = before;
  await before.stop();
  const logLines: string[] = [];
  const lacking = await startTestGateway({ data, logLines, settings: { metrics: { serve: { port: 0 } } } });
  try {
    const told = logLines.map((line) => JSON.parse(line)).filter(({ msg }) => /no provider/.test(msg));
    expect(told).toEqual([
      expect.objectContaining({
        level: 50,
        models: ['medium', 'agent', 'fast', 'renamed', 'twice', 'old', 'automatic'].map((one) => `opal-${one} (test)`),
      }),
    ]);
    expect(await (await fetch(`${lacking.url}/readyz`)).json()).toMatchObject({
      ok: true,
      degraded: expect.stringMatching(/no provider for opal-medium \(test\), .*, opal-twice \(test\) and 2 more: /),
    });
    const metrics = await (await fetch(`${lacking.gateway.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_models_without_provider 7$/m);
  } finally {
    await lacking.stop();
  }
});
