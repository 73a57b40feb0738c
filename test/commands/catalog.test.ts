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
    / {2}3\.000000 +15\.000000 +0\.300000 +3\.750000 +6\.000000 +standard, fast \(tokens 2x\) +web_search_requests 0\.010000, /,
  );
  const [now, before] = [program.clock(), program.warned];
  await program.run('catalog', 'history', '--at', new Date(now + 1_000).toISOString());
  expect(program.warned.slice(before.length)).toMatch(/^warning: --at: \S+Z has not come yet: .*\n$/);
  const history = await program.run('catalog', 'history');
  for (const row of [/price\.cacheRead +- +0\.300000/, /price\.cacheWrite1h +- +6\.000000/, /lanes +- +standard, fast/])
    expect(history).toMatch(row);
  for (const cell of [
    'web_search_requests 0.010000',
    'drawing_requests 0.062500',
    'shipped',
    'mine-2026-01-01',
    'context-1m-2025-08-07 (window 1000000, input 6.000000, output 22.500000)',
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
    'warning: opal-medium: with the beta cheap-2026-01-01 input costs 0.020000 USD per million tokens, less than the ' +
      "model's 3.000000: whoever sends it pays that\n",
  );
});

it('money has thousands separators and six decimals, and is the same number as JSON', async () => {
  const program = endedLater(await programInProcess());
  const file = join(temporaryFolder(), 'catalog.json');
  const price = { input: '1000.00', output: '12345.5', uses: { web_search_requests: '1000' } };
  const betas = [
    { name: 'context-1m-2025-08-07', context_window: 1_000_000, price: { input: '2000', output: '20000' } },
  ];
  const plans = [{ id: 'large', label: '1000.00', price: '2000.00', credits: '2500.00' }];
  writeFileSync(file, JSON.stringify({ models: [{ ...model, price, betas }], plans }));
  const diff = await program.run('catalog', 'diff', file);
  await program.run('catalog', 'publish', file);
  const history = await program.run('catalog', 'history');
  for (const row of [
    /^opal-medium +price\.input +- +1,000\.000000$/m,
    /^opal-medium +price\.output +- +12,345\.500000$/m,
    /^opal-medium +price\.uses\.web_search_requests +- +1,000\.000000$/m,
    /^plan large +credits +- +2,500\.000000$/m,
  ])
    expect([diff, history]).toEqual([expect.stringMatching(row), expect.stringMatching(row)]);
  const shown = await program.run('catalog', 'show');
  expect(shown).toMatch(
    / 1,000\.000000 +12,345\.500000 +100\.000000 .* web_search_requests 1,000\.000000 .*input 2,000\.000000, output 20,000\.000000/,
  );
  writeFileSync(
    file,
    JSON.stringify({ models: [{ ...model, price, betas: [] }], plans: [{ ...plans[0], label: '2' }] }),
  );
  const next = await program.run('catalog', 'diff', file);
  for (const row of [
    /^opal-medium +betas\.context-1m-2025-08-07\.price\.output +20,000\.000000 +-$/m,
    /^opal-medium +betas\.context-1m-2025-08-07\.context_window +1000000 +-$/m,
    /^plan large +label +1000\.00 +2$/m,
  ])
    expect(next).toMatch(row);
  const [first] = (await program.json('catalog', 'history')) as unknown as { changes: { fields: object[] }[] }[];
  expect(first?.changes[0]?.fields).toContainEqual({ field: 'price.output', from: null, to: '12345.50' });
});
