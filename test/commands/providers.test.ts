import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { runProgram, serve, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const model = (id: string, provider: string) => ({
  ...{ id, display_name: id, family: 'opal', label: 'Opal', group: 'Opal', context_window: 200_000 },
  ...{ price: { input: '3.00', output: '15.00' }, upstreams: [{ provider, model: 'x' }] },
});
const SPARE = { protocol: 'messages', baseUrl: 'http://127.0.0.1:1', apiKeyEnv: 'PATH' };

/** A data folder, a catalog with a model at `mock` and one at `spare`, and configurations with and without `spare`. */
function scene() {
  const folder = temporaryFolder();
  const catalog = join(folder, 'catalog.json');
  writeFileSync(catalog, JSON.stringify({ models: [model('here', 'mock'), model('there', 'spare')] }));
  const configured = (name: string, providers: object): string => {
    const file = join(folder, name);
    const settings = { data: 'data', catalog: EXAMPLE, providers, metrics: { serve: { port: 0 } }, logLevel: 'error' };
    writeFileSync(file, JSON.stringify(settings));
    return file;
  };
  return {
    ...{ data: join(folder, 'data'), catalog },
    withSpare: configured('with.json', { spare: SPARE }),
    without: configured('without.json', { spar: SPARE }),
  };
}

describe('a catalog that names a provider which the gateway does not have', () => {
  it('is refused by name where no configuration is named, as `serve` would find none either', async () => {
    const { data, catalog } = scene();
    const refused = await runHere('catalog', 'publish', catalog, '--data', data);
    expect(refused).toEqual({
      exitCode: 2,
      stdout: '',
      stderr:
        `gateway: ${catalog}:\n  models.1.upstreams.0.provider: a gateway without a configuration file has no provider "spare", ` +
        "which the model there needs; it has mock. What to do: name the gateway's file by --config or GATEWAY_CONFIG, as for `gateway serve`\n",
    });
  });

  it('is refused where the configuration lacks it, which GATEWAY_CONFIG names as well as --config', async () => {
    const { catalog, without, withSpare } = scene();
    const says = `the configuration ${without} has no provider "spare" (is spar meant?)`;
    const byOption = await runHere('catalog', 'publish', catalog, '--config', without);
    expect(byOption).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(says) });
    process.env.GATEWAY_CONFIG = without;
    onTestFinished(() => {
      delete process.env.GATEWAY_CONFIG;
    });
    expect(await runProgram('catalog', 'publish', catalog)).toEqual(byOption);
    process.env.GATEWAY_CONFIG = withSpare;
    expect(await runHere('catalog', 'publish', catalog)).toMatchObject({ exitCode: 0 });
  });

  it('is refused where the gateway that runs on the folder was started without it, whatever the file says now', async () => {
    const { data, catalog, without, withSpare } = scene();
    const { child } = await serve('--config', without);
    const refused = await runHere('catalog', 'publish', catalog, '--config', withSpare);
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`the gateway on ${data} has no provider "spare" (is spar meant?)`),
    });
    expect(await stop(child)).toBe(0);
    expect(await runHere('catalog', 'publish', catalog, '--config', withSpare)).toMatchObject({ exitCode: 0 });
  });

  it('and is in force all the same, is told by /readyz, /status, a metric and the log', async () => {
    const { data, catalog, without, withSpare } = scene();
    await runHereForJson('catalog', 'publish', catalog, '--config', withSpare);
    const { child, ready } = await serve('--config', without);
    onTestFinished(async () => {
      await stop(child);
    });
    const degraded = 'the configuration has no provider for there (spare): each request for them is answered with 502';
    expect(await (await fetch(`${ready.url}/readyz`)).json()).toEqual({ ok: true, degraded });
    expect(await (await fetch(`${ready.url}/status`)).json()).toMatchObject({ degraded });
    expect(JSON.parse(readFileSync(join(data, 'providers.json'), 'utf8'))).toEqual({ providers: ['spar'] });
    await runHereForJson('catalog', 'publish', EXAMPLE, '--config', withSpare);
    await expect.poll(async () => (await fetch(`${ready.url}/readyz`)).json()).toEqual({ ok: true });
  });
});

describe('a key for models', () => {
  it('is for models of the catalog only, and a name that is near is told', async () => {
    const data = temporaryFolder();
    const run = (...args: string[]) => runHere(...args, '--data', data);
    await run('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada');
    const issue = (models: string) => run('key', 'issue', 'acct_ada', '--models', models);
    expect(await issue('opal-medium')).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/^gateway: --models: no catalog is published yet/),
    });
    await run('catalog', 'publish', EXAMPLE);
    const refused = await issue('opal-medum,gpt,svc-mock');
    expect(refused).toMatchObject({ exitCode: 3, stdout: '' });
    expect(refused.stderr).toMatch(
      /^gateway: --models: the catalog has no model "opal-medum" \(is opal-medium meant\?\), "gpt"; it has svc-mock, .*\n$/,
    );
    for (const models of ['', ' , ', 'svc-mock,,opal-medium'])
      expect(await issue(models)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(/--models.*none of them empty/),
      });
    expect(await issue('svc-mock, opal-medium,svc-mock')).toMatchObject({ exitCode: 0 });
    const [key] = (await runHereForJson('key', 'list', 'acct_ada', '--data', data)) as unknown as {
      models: string[];
    }[];
    expect(key?.models).toEqual(['svc-mock', 'opal-medium']);
  });

  it('stands alone on what is printed where that is asked for', async () => {
    const data = temporaryFolder();
    await runHere('account', 'open', '--email', 'ada@example.com', '--id', 'acct_ada', '--data', data);
    const issue = (...more: string[]) => runHere('key', 'issue', 'acct_ada', '--key-only', '--data', data, ...more);
    expect((await issue()).stdout).toMatch(/^sk-svc-[\w-]{43}\n$/);
    expect((await issue('--json')).stdout).toMatch(/^"sk-svc-[\w-]{43}"\n$/);
  });
});
