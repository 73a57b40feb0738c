import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const ACCOUNT = 'acct_12345678901234567890';
const EMAIL = 'somebody-with.a-name@example.com';
const COLUMNS = 80;

/** A ledger in which each list has rows of the usual widths. */
async function site() {
  const program = await programInProcess();
  const { run } = program;
  const file = join(temporaryFolder(), 'catalog.json');
  const models = ['opal-medium', 'opal-large-thinking'].map((name) =>
    catalogEntry(name, { upstreams: [{ provider: 'mock', model: `provider/${name}-20271105` }] }),
  );
  writeFileSync(file, JSON.stringify({ models }));
  await run('catalog', 'publish', file);
  await run('account', 'open', '--kind', 'organization', '--email', EMAIL, '--id', ACCOUNT, '--trial-usd', '123456');
  await run('member', 'add', ACCOUNT, `x${EMAIL}`);
  await run('key', 'issue', ACCOUNT, '--name', 'the laptop of somebody', '--monthly-limit-usd', '12345.678901');
  await run('limit', 'set', ACCOUNT, '--usd', '1234567');
  await run('ledger', 'keys', 'rotate');
  await run('credits', 'purchase', ACCOUNT, '--usd', '20000', '--id', 'invoice-20271105-00012345');
  return program;
}

describe('at a terminal of 80 columns', () => {
  let program: Awaited<ReturnType<typeof site>>;
  beforeAll(async () => {
    program = await site();
    return () => program.close();
  });

  it.each([
    ['account', 'list'],
    ['account', 'show', ACCOUNT],
    ['member', 'list', ACCOUNT],
    ['account', 'usage', ACCOUNT],
    ['key', 'list', ACCOUNT],
    ['payment', 'list'],
    ['payment', 'list', ACCOUNT],
    ['exception', 'list'],
    ['catalog', 'show'],
    ['catalog', 'history'],
    ['plan', 'list'],
    ['ledger', 'forms'],
    ['ledger', 'keys'],
    ['projections', 'status'],
  ])('gateway %s %s keeps to them, and cuts nothing off', async (...command) => {
    Object.assign(program.context, { columns: 1_000 });
    const wide = await program.run(...command);
    Object.assign(program.context, { columns: COLUMNS });
    const narrow = await program.run(...command);
    Object.assign(program.context, { columns: undefined });
    expect(narrow.split('\n').filter((line) => line.length > COLUMNS)).toEqual([]);
    // Behind the head of each table: a column in which nothing stands has none.
    const written = wide.replaceAll(/┌.*\n.*\n/g, '').split(/[\s│─┌┐└┘├┤┬┴┼,]+/);
    // A word that is too long for a line is on several.
    const letters = narrow.replaceAll(/\s/g, '');
    expect(written.filter((word) => !letters.includes(word))).toEqual([]);
  });
});
