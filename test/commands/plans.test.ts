import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const STARTER = { id: 'starter', label: 'Starter', price: '20.00', credits: '25.00' };
const TEAM = { id: 'team', label: 'Team', price: '200.00', credits: '260.00', overdraft: '20.00', grace_days: 14 };

let program: ProgramInProcess;
beforeEach(async () => {
  program = endedLater(await programInProcess());
});

function fileOf(...plans: readonly object[]): string {
  const file = join(temporaryFolder(), 'catalog.json');
  writeFileSync(
    file,
    JSON.stringify({ models: [catalogEntry('opal', { upstreams: [{ provider: 'mock', model: 'opal' }] })], plans }),
  );
  return file;
}

it('gateway plan list shows the plans of the catalog in force, and catalog show, diff and history what becomes of them', async () => {
  expect(await program.run('plan', 'list')).toMatch(/the catalog has no plans/);
  await program.run('catalog', 'publish', fileOf());
  const next = fileOf(STARTER, TEAM);
  expect(await program.json('catalog', 'diff', next)).toMatchObject({
    changes: [],
    plans: [
      { plan: 'starter', change: 'added' },
      { plan: 'team', change: 'added' },
    ],
  });
  expect(await program.run('catalog', 'diff', next)).toMatch(/plan starter.*price.*20\.00/);
  expect(await program.run('catalog', 'publish', next)).toMatch(/version 2 with 1 models and 2 plans/);
  expect(await program.run('catalog', 'publish', next)).toMatch(/nothing changes/);
  expect(await program.run('plan', 'list')).toMatch(/team.*Team.*200\.00.*260\.00.*20\.00.*14 d.*all.*gateway/);
  expect(await program.json('plan', 'list')).toMatchObject({ version: 2, plans: [{ id: 'starter' }, { id: 'team' }] });
  expect(await program.json('plan', 'list', '--product', 'other')).toMatchObject({ plans: [] });
  expect(await program.run('catalog', 'show')).toMatch(/starter.*Starter/);
  await program.run('catalog', 'publish', fileOf({ ...STARTER, price: '21.00' }));
  const [, , third] = (await program.json('catalog', 'history')) as never as readonly object[];
  expect(third).toMatchObject({
    planChanges: [
      { plan: 'starter', change: 'changed', fields: [{ field: 'price', from: '20.00', to: '21.00' }] },
      { plan: 'team', change: 'removed' },
    ],
  });
  expect(await program.run('catalog', 'history')).toMatch(/plan starter.*price.*20\.00.*21\.00/);
});
