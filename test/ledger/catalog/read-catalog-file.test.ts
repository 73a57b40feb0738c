import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { readCatalogFile } from '../../../ledger/catalog/read-catalog-file.ts';
import { catalogEntry } from '../../fixtures/catalog-entry.ts';
import { faultsOf } from '../../fixtures/faults-of.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const upstreams = ['mock', 'main'].map((provider) => ({ provider, model: 'x' }));
const model = catalogEntry('opal-medium', { upstreams });
function fileOf(text: string): string {
  const file = join(temporaryFolder(), 'catalog.yaml');
  writeFileSync(file, text);
  return file;
}
const having = (...providers: string[]) => ({ names: ['mock', ...providers], of: 'the gateway', remedy: 'add it' });

describe('a catalog file', () => {
  test('is read with the providers of the configuration, of which mock is always one', () => {
    const file = fileOf(stringify({ models: [model] }));
    expect(readCatalogFile(file, having('main')).models[0]?.upstreams).toEqual(model.upstreams);
  });

  test('that names a provider which is not configured is told the path', () => {
    const file = fileOf(stringify({ models: [model] }));
    expect(faultsOf(() => readCatalogFile(file, having('spare', 'maim')))).toEqual([
      'models.0.upstreams.1.provider: the gateway has no provider "main" (is maim meant?), which the model opal-medium needs; ' +
        'it has mock, spare, maim. What to do: add it',
    ]);
  });

  test('that is wrong is told the file and every path', () => {
    const file = fileOf(
      stringify({
        models: [
          { ...model, price: undefined, family: 'x' },
          { ...model, label: '' },
        ],
      }),
    );
    const faults = faultsOf(() => readCatalogFile(file, having('main')));
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(
      expect.arrayContaining(['models.0.price', 'models.1.label']),
    );
    expect(() => readCatalogFile(file, having('main'))).toThrow(`${file}:\n  models.0.price`);
  });

  test('that is missing, no file, or not YAML, is told in the same way', () => {
    const faultsIn = (file: string) => faultsOf(() => readCatalogFile(file, having()));
    expect(faultsIn(join(temporaryFolder(), 'none.yaml'))).toEqual(['does not exist']);
    expect(faultsIn(temporaryFolder())).toEqual(['is a folder']);
    // A pipe would be waited for, and another device has no end.
    expect(faultsIn('/dev/null')).toEqual(['is no file, but a device, a pipe or a socket']);
    expect(faultsOf(() => readCatalogFile(fileOf('models: ['), having()))).toHaveLength(1);
  });
});
