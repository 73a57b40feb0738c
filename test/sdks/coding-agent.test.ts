import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { DomainEvent } from '../../contracts/events.ts';
import { TEST_CATALOG, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { type Answer, failure, stream } from '../upstream/answer.ts';
import { type Block, text, toolUse } from '../upstream/content.ts';
import { defaultAnswer, jsonOf } from '../upstream/default-answer.ts';
import type { SeenRequest } from '../upstream/seen-request.ts';
import { streamEvents } from '../upstream/stream-events.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { codingAgent } from './fetched-clients.ts';
import { runClient } from './run-client.ts';

/** A popular coding agent as its users run it: base URL and key are set, the model is one that the agent knows or not. */
const agent = codingAgent();

/** The agent's own default: it sends role `system` to it, unless it is told that the model does not take it. */
const DEFAULT_MODEL = 'claude-opus-5-5';

let upstream: Upstream;
let gateway: TestGateway;

async function start(extra: readonly object[] = []): Promise<void> {
  const catalog = { models: [...TEST_CATALOG.models, ...extra] };
  ({ upstream, gateway } = await startOnUpstream(onTestFinished, { catalog }));
}

const bodySchema = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
});
const bodyOf = (request: SeenRequest) => bodySchema.parse(jsonOf(request.body));
const rolesOf = (request: SeenRequest) => bodyOf(request).messages.map(({ role }) => role);
const isMessage = ({ path }: SeenRequest): boolean => path.split('?')[0] === '/v1/messages';
const says = (...blocks: Block[]): Answer => stream(streamEvents({ blocks }));

/** Runs it in a folder of its own, with one prompt and no questions. */
const ask = (prompt: string, environment: Readonly<Record<string, string>> = {}, cwd = temporaryFolder()) =>
  runClient({
    command: agent ?? '',
    arguments: ['-p', prompt, '--allowedTools', 'Bash,Agent'],
    cwd,
    environment: {
      ANTHROPIC_BASE_URL: gateway.url,
      ANTHROPIC_API_KEY: gateway.key,
      ANTHROPIC_MODEL: 'opal-medium',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'svc-mock',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: '8000',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ...environment,
    },
  });

/** Every answer that the upstream gave is recorded and debited, and nothing else is. */
async function expectBilledOnce(answered: number): Promise<void> {
  const events = await gateway.events();
  const count = (type: DomainEvent['type']) => events.filter((event) => event.type === type).length;
  expect({ recorded: count('UsageRecorded'), debited: count('CreditsDebited') }).toEqual({
    recorded: answered,
    debited: answered,
  });
}

describe.skipIf(agent === null)(
  agent === null ? 'a coding agent (npm run clients fetches it)' : 'a coding agent',
  () => {
    it('gets an answer, which is billed', async () => {
      await start();
      expect(await ask('say hello')).toBe('Hello, world.\n');
      await expectBilledOnce(upstream.requests.filter(isMessage).length);
    });

    it('goes round a tool loop', async () => {
      await start();
      const cwd = temporaryFolder();
      upstream.answerWith((request) =>
        bodyOf(request).messages.length === 1 || !request.body.includes('tool_result')
          ? says(toolUse('Bash', '{"command":"echo from-the-', 'tool > made; cat made"}'))
          : says(text('done')),
      );
      expect(await ask('write a file', {}, cwd)).toBe('done\n');
      expect(existsSync(join(cwd, 'made'))).toBe(true);
      expect(upstream.requests.at(-1)?.body.toString()).toContain('from-the-tool');
      await expectBilledOnce(upstream.requests.filter(isMessage).length);
    });

    it('runs a subagent, whose requests are billed like its own', async () => {
      await start();
      const task = 'count the legs of a spider';
      const input = JSON.stringify({ description: 'count legs', prompt: task, subagent_type: 'general-purpose' });
      upstream.answerWith((request) => {
        if (request.body.includes('tool_result')) return says(text('it says eight'));
        const first = JSON.stringify(bodyOf(request).messages[0]);
        return first.includes(task) ? says(text('eight')) : says(toolUse('Agent', input));
      });
      // It may run beside its parent, which is then told of its end and answers once more.
      expect(await ask('have it counted')).toContain('it says eight\n');
      const messages = upstream.requests.filter(isMessage);
      expect(messages.some((request) => JSON.stringify(bodyOf(request).messages[0]).includes(task))).toBe(true);
      await expectBilledOnce(messages.length);
    });

    it('tries again after 529, and pays once', async () => {
      await start();
      upstream.answerWith((request) =>
        upstream.requests.filter(isMessage).length === 1 ? failure(529) : defaultAnswer(request),
      );
      expect(await ask('say hello')).toBe('Hello, world.\n');
      expect(upstream.requests.filter(isMessage)).toHaveLength(2);
      expect((await gateway.events()).filter(({ type }) => type === 'CreditsDebited')).toHaveLength(1);
    });

    it.each([
      ['falls back by itself where its default model does not take role system', false, ['user']],
      ['sends role system where the catalog says that its default model takes it', true, ['user', 'system']],
    ])('%s', async (_what, takesSystem, roles) => {
      const [, medium] = TEST_CATALOG.models;
      await start([{ ...medium, id: DEFAULT_MODEL, system_role: takesSystem }]);
      expect(await ask('say hello', { ANTHROPIC_MODEL: DEFAULT_MODEL })).toBe('Hello, world.\n');
      const [seen, ...more] = upstream.requests.filter(isMessage);
      expect(more).toEqual([]);
      expect(seen && rolesOf(seen)).toEqual(roles);
      await expectBilledOnce(1);
    });
  },
);
