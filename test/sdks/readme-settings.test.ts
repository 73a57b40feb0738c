import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { codingAgent, fetchedClient, isInPath } from './fetched-clients.ts';
import { type ClientRun, runClient } from './run-client.ts';

/** The README's examples as they stand there: only the address and the key become those of a gateway that listens. */
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const CANNED = /This is the canned reply/;

/** The fenced block of the README with this info string. */
function exampleOf(info: string): string {
  const block = new RegExp(`^\`\`\`${info}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(README)?.[1];
  if (block === undefined) throw new Error(`README.md has no block ${info}`);
  expect(block).toContain('http://127.0.0.1:8787');
  expect(block).toContain('YOUR_KEY');
  return block.replaceAll('http://127.0.0.1:8787', gateway.url).replaceAll('YOUR_KEY', gateway.key);
}

const written = (name: string, content: string): string => {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, content);
  return file;
};

const FETCHED_BY = 'npm run clients fetches it';
const python = fetchedClient('python');
const java = fetchedClient('java');
const go = fetchedClient('go');

/** Why an example is not run here; null where it is. */
const EXAMPLES: readonly [string, string | null, (example: string) => ClientRun][] = [
  ['sh', isInPath('curl') ? null : 'there is no curl', (input) => ({ command: 'sh', arguments: ['-e'], input })],
  [
    'ts',
    null,
    // From its standard input, so that it finds the SDK among the packages of this folder.
    (input) => ({ command: process.execPath, arguments: ['--input-type=module-typescript'], cwd: ROOT, input }),
  ],
  [
    'python',
    python === null ? FETCHED_BY : null,
    (input) => ({ command: join(python ?? '', 'venv/bin/python'), arguments: ['-'], input }),
  ],
  [
    'go',
    go === null ? FETCHED_BY : null,
    // Offline: what it needs is in Go's cache.
    (example) => ({
      command: 'go',
      arguments: ['run', written('main.go', example)],
      cwd: go ?? '',
      environment: { GOPROXY: 'off', GOFLAGS: '-mod=mod' },
    }),
  ],
  [
    'java',
    java === null ? FETCHED_BY : null,
    (example) => ({
      command: 'java',
      arguments: ['-cp', join(java ?? '', 'lib/*'), written('Hello.java', example)],
    }),
  ],
];

describe('the README shows the settings of a client, which get an answer', () => {
  for (const [language, why, runOf] of EXAMPLES)
    it.skipIf(why !== null)(why === null ? language : `${language} (${why})`, async () => {
      expect(await runClient(runOf(exampleOf(`${language} client`)))).toMatch(CANNED);
    });

  const agent = codingAgent();
  it.skipIf(agent === null)(agent === null ? `a coding agent (${FETCHED_BY})` : 'a coding agent', async () => {
    const example = exampleOf('sh agent').replace(/^claude\b/m, `"${agent}"`);
    expect(await runClient({ command: 'sh', arguments: ['-e'], input: example })).toMatch(CANNED);
  });
});
