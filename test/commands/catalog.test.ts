import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const model = {
  ...{ id: 'opal-medium', display_name: 'Opal Medium', family: 'opal', label: 'Opal', group: 'Opal' },
  ...{ context_window: 200_000, upstreams: [{ provider: 'mock', model: 'x' }] },
};

it('the catalog is shown with its prices a use and its betas; names that are not known are told when it is published', async () => {
  const program = endedLater(await programInProcess());
  const file = join(temporaryFolder(), 'catalog.json');
  const uses = { web_search_requests: '0.01', drawing_requests: '0.0625' };
  const long = { name: 'context-1m-2025-08-07', context_window: 1_000_000, price: { input: '6.00', output: '22.50' } };
  const betas = ['shipped', 'web-fetch-2025-09-10', 'mine-2026-01-01', long];
  writeFileSync(
    file,
    JSON.stringify({
      models: [{ ...model, lanes: ['standard', 'fast'], price: { input: '3.00', output: '15.00', uses }, betas }],
    }),
  );
  await program.run('catalog', 'publish', file);
  expect(program.warned.replace(/^a new ledger was begun: .*\n/m, '')).toBe(
    'warning: opal-medium: the beta mine-2026-01-01 is not known here: it passes, and is taken to change neither window nor price\n' +
      'warning: opal-medium: no tool that is known here is billed by the use drawing_requests\n',
  );
  const shown = await program.run('catalog', 'show');
  expect(shown).toMatch(/ {2}input USD\/MTok +output +cache read +write 5 min +write 1 h +lanes /);
  expect(shown).toMatch(
    / {2}3\.00 +15\.00 +0\.30 +3\.75 +6\.00 +standard, fast \(tokens 2x\) +web_search_requests 0\.01, /,
  );
  const [now, before] = [program.clock(), program.warned];
  await program.run('catalog', 'history', '--at', new Date(now + 1_000).toISOString());
  expect(program.warned.slice(before.length)).toMatch(/^warning: --at: \S+Z has not come yet: .*\n$/);
  const history = await program.run('catalog', 'history');
  for (const row of [/price\.cacheRead +- +0\.30/, /price\.cacheWrite1h +- +6\.00/, /lanes +- +standard, fast/])
    expect(history).toMatch(row);
  for (const cell of [
    'web_search_requests 0.01',
    'drawing_requests 0.0625',
    'shipped',
    'mine-2026-01-01',
    'context-1m-2025-08-07 (window 1000000, input 6.00, output 22.50)',
  ])
    expect(shown).toContain(cell);
});

it('a beta by which a model costs less is told when it is published, for any client can send it', async () => {
  const program = endedLater(await programInProcess());
  const file = join(temporaryFolder(), 'catalog.json');
  const betas = [{ name: 'cheap-2026-01-01', price: { input: '0.02', output: '15.00' } }];
  writeFileSync(file, JSON.stringify({ models: [{ ...model, price: { input: '3.00', output: '15.00' }, betas }] }));
  await program.run('catalog', 'publish', file);
  expect(program.warned.replace(/^a new ledger was begun: .*\n/m, '')).toBe(
    'warning: opal-medium: with the beta cheap-2026-01-01 input costs 0.02 USD per million tokens, less than the ' +
      "model's 3.00: whoever sends it pays that\n",
  );
});
