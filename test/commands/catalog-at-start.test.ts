import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadCatalog } from '../../ledger/catalog/catalog-state.ts';
import { readConfiguration } from '../../proxy/program/configuration/read-configuration.ts';
import {
  type CatalogNotice,
  catalogAtStart,
  readConfiguredCatalog,
} from '../../proxy/program/serve/catalog-at-start.ts';
import { banner } from '../../proxy/program/serve/ready-words.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { PROGRAM, stop } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const catalogOf = (input: string, provider = 'mock') => ({
  models: [
    {
      ...{ id: 'only', display_name: 'Only', family: 'opal', label: 'Only', group: 'G', context_window: 200_000 },
      ...{ price: { input, output: '15.00' }, upstreams: [{ provider, model: 'x' }] },
    },
  ],
});

/** A configuration file of a folder of its own, and what it names; without a name it names no catalog. */
function scene(catalog?: string) {
  const folder = temporaryFolder();
  const config = join(folder, 'gateway.json');
  writeFileSync(config, JSON.stringify({ data: 'data', ...(catalog === undefined ? {} : { catalog }) }));
  return { config, data: join(folder, 'data'), catalog: join(folder, catalog ?? 'catalog.json') };
}

const UNUSABLE: readonly [string, string | null, RegExp][] = [
  ['is not there', null, /does not exist/],
  ['is no YAML', 'models: [', /catalog\.json:\n {2}\S/],
  ['says nothing of a price', '{"models":[{"id":"only"}]}', /models\.0\.\w+/],
  ['names a provider that there is not', JSON.stringify(catalogOf('3.00', 'nobody')), /has no provider "nobody"/],
];

describe('a configured catalog that cannot be used', () => {
  it.each(UNUSABLE)('because it %s ends a first start, which begins nothing', async (_why, content, says) => {
    const { config, data, catalog } = scene('catalog.json');
    if (content !== null) writeFileSync(catalog, content);
    const { exitCode, stdout, stderr } = await runHere('serve', '--config', config, '--port', '0');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^ +at /m);
    expect(existsSync(data)).toBe(false);
  });

  it('ends the start of a gateway whose ledger has none yet', async () => {
    const { config } = scene('catalog.json');
    await runHere('account', 'open', '--email', 'ada@example.com', '--config', config);
    const started = await runHere('serve', '--config', config, '--port', '0');
    expect(started).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringMatching(/^gateway: .*does not exist/s),
    });
  });
});

/** What starts say, one after another, of one ledger. */
async function starts() {
  const { log, context, run, close } = await programInProcess();
  onTestFinished(close);
  const start = (config: string | null) => {
    const configuration = readConfiguration({ file: config, environment: {}, callsProviders: true });
    const startedWith = { config, data: undefined };
    return catalogAtStart(context, log, { configured: readConfiguredCatalog(configuration), startedWith });
  };
  return { log, run, start };
}

describe('a start', () => {
  it('publishes the configured catalog once, and says from then on where the file differs from what is in force', async () => {
    const { log, start } = await starts();
    const { config, catalog } = scene('catalog.json');
    writeFileSync(catalog, JSON.stringify(catalogOf('3.00')));
    expect([await start(config), await start(config)]).toEqual([null, null]);
    writeFileSync(catalog, JSON.stringify(catalogOf('4.00')));
    const publish = `gateway catalog publish ${catalog} --config ${config}`;
    const message = `catalog version 1 of the ledger is in force; ${catalog} differs from it; to publish it: ${publish}`;
    expect(await start(config)).toEqual({ version: 1, file: catalog, publish, message });
    expect((await loadCatalog(log)).version).toBe(1);
  });

  it('says of a file that is older than what is in force that it is, and advises nobody to publish it', async () => {
    const { run, start } = await starts();
    const { config, catalog } = scene('catalog.json');
    const write = (input: string): void => writeFileSync(catalog, JSON.stringify(catalogOf(input)));
    for (const input of ['3.00', '4.00', '3.00', '4.00']) {
      write(input);
      await run('catalog', 'publish', catalog);
    }
    write('3.00');
    const publish = `gateway catalog publish ${catalog} --config ${config}`;
    const message = `catalog version 4 of the ledger is in force; ${catalog} is older, as version 3 was: bring the file up to date; to go back to what it says: ${publish}`;
    expect(await start(config)).toEqual({ version: 4, file: catalog, publish, message });
    write('4.00');
    expect(await start(config)).toBe(null);
  });

  it.each(UNUSABLE)(
    'goes on with the catalog in force where the file %s, and says so on one line',
    async (_why, content) => {
      const { log, start } = await starts();
      const { config, catalog } = scene('catalog.json');
      writeFileSync(catalog, JSON.stringify(catalogOf('3.00')));
      await start(config);
      if (content === null) rmSync(catalog);
      else writeFileSync(catalog, content);
      const notice = await start(config);
      expect(notice?.message).toMatch(
        /^catalog version 1 of the ledger is in force; .* cannot be used \(.+\); mend it, then publish it: gateway catalog publish .*$/,
      );
      expect((await loadCatalog(log)).models.size).toBe(1);
    },
  );

  it.each([
    ['one fault', ['nobody'], /[^(]*"nobody"[^(]*/],
    ['two', ['nobody', 'no-one'], /[^(]*"nobody"[^(]* \(1 more fault\)/],
    ['three', ['nobody', 'no-one', 'none'], /[^(]*"nobody"[^(]* \(2 more faults\)/],
  ])('says how many more faults than the first a file has: %s', async (_count, providers, told) => {
    const { start } = await starts();
    const { config, catalog } = scene('catalog.json');
    writeFileSync(catalog, JSON.stringify(catalogOf('3.00')));
    await start(config);
    const [model] = catalogOf('3.00').models;
    const models = providers.map((provider) => ({ ...model, id: provider, upstreams: [{ provider, model: 'x' }] }));
    writeFileSync(catalog, JSON.stringify({ ...catalogOf('3.00'), models }));
    const notice = await start(config);
    expect(notice?.message).toMatch(new RegExp(` cannot be used \\(${told.source}\\); mend it, then publish it: `));
  });

  it('publishes the example only where there is no configuration file', async () => {
    const { log, start } = await starts();
    const { config } = scene();
    expect(await start(config)).toMatchObject({
      version: 0,
      file: null,
      message: expect.stringMatching(/nothing is sold/),
    });
    expect((await loadCatalog(log)).version).toBe(0);
    expect(await start(null)).toBeNull();
    expect((await loadCatalog(log)).models.has('svc-mock')).toBe(true);
    // What a start before the configuration file has published is still sold, now perhaps to customers.
    expect((await start(config))?.message).toMatch(
      /^catalog version 1 .* is the example: its models answer from the mock, and are billed; /,
    );
  });
});

it('a gateway whose configuration names no catalog sells nothing until one is published by the command that it says', async () => {
  const { config, data } = scene();
  const { ready, logged } = await started(config);
  const { catalog } = ready;
  const { message, ...field } = catalog;
  await expect.poll(logged).toContainEqual(expect.objectContaining({ level: 40, catalog: field, msg: message }));
  const configuration = readConfiguration({ file: config, environment: {}, callsProviders: false });
  const words = { begun: null, demo: null, catalog, startedWith: { config, data: undefined } };
  expect(banner(ready.url, configuration, words)).toContain(`\ndata: ${data}\n${catalog.message}\n`);
  const get = async (path: string) => (await fetch(`${ready.url}${path}`)).json();
  expect(await get('/pricing')).toMatchObject({ models: [] });
  expect(await get('/readyz')).toEqual({ ok: true, degraded: expect.stringMatching(/^no catalog is published: /) });
  const file = join(temporaryFolder(), 'a catalog.json');
  writeFileSync(file, JSON.stringify(catalogOf('3.00')));
  const [, ...publish] = catalog.publish.split(' ');
  expect(await runHere(...publish.map((word) => (word === 'FILE' ? file : word)))).toMatchObject({ exitCode: 0 });
  await expect.poll(() => get('/readyz')).toEqual({ ok: true });
});

/** A gateway as a process: its first line of JSON, and the lines of its log. */
async function started(config: string) {
  const child = spawn(process.execPath, [PROGRAM, '--json', 'serve', '--port', '0', '--config', config], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    await stop(child);
  });
  const logged: unknown[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => logged.push(JSON.parse(line)));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return { ready: JSON.parse(String(line)) as { url: string; catalog: CatalogNotice }, logged: () => logged };
}
