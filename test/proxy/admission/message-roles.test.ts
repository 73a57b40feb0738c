import { afterAll, describe, expect, it } from 'vitest';
import { asking, post, refusalOf } from '../../fixtures/gateway/call.ts';
import { startOnUpstream } from '../../fixtures/gateway/start-on-upstream.ts';

const { upstream, gateway } = await startOnUpstream(afterAll);

const MESSAGES = [
  { role: 'user', content: 'hello' },
  { role: 'system', content: 'be brief' },
];

describe.each(['/v1/messages', '/v1/messages/count_tokens'])('role system within messages, %s', (path) => {
  it('passes as it is to a model that takes it', async () => {
    const sent = upstream.requests.length;
    expect((await post(gateway, path, asking('opal-agent', { messages: MESSAGES }))).status).toBe(200);
    expect(upstream.requests.slice(sent).map(({ body }) => JSON.parse(body.toString()).messages)).toEqual([MESSAGES]);
  });

  it('is refused elsewhere in the words that agents try again without it upon, before anything goes upstream', async () => {
    const sent = upstream.requests.length;
    const refused = refusalOf(await post(gateway, path, asking('opal-medium', { messages: MESSAGES })), 400);
    expect(refused).toBe(`messages.1.role: role 'system' is not supported on this model`);
    expect(upstream.requests.length).toBe(sent);
  });
});
