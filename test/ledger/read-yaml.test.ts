import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { readYaml } from '../../ledger/read-yaml.ts';
import { faultsOf } from '../fixtures/faults-of.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const SECRET = 'hunter2hunter2';

function fileOf(text: string): string {
  const file = join(temporaryFolder(), 'some.yaml');
  writeFileSync(file, text);
  return file;
}

it('a file is read as YAML or JSON, and one with nothing in it as null', () => {
  expect(readYaml(fileOf('a: &x [1, "2"]\nb: *x'))).toEqual({ a: [1, '2'], b: [1, '2'] });
  expect(readYaml(fileOf('{"a": {"b": true}}'))).toEqual({ a: { b: true } });
  expect(readYaml(fileOf('# nothing'))).toBeNull();
});

it.each([
  [`a: "esdb://a:${SECRET}\\p@h"`, 'line 2, column 28: there is no such escape sequence in double quotes'],
  [`a: "esdb://a:\\U${SECRET}@h"`, 'line 2, column 14: there is no such escape sequence in double quotes'],
  [`a: "esdb://a:${SECRET}@h`, 'line 2, column 30: Missing closing "quote'],
  [`a: "esdb://a:"${SECRET}@h`, 'line 2, column 15: what stands here is not expected'],
  [`a: |esdb://a:${SECRET}@h`, 'line 2, column 5: what stands here is not expected'],
  [`a: [esdb://a:${SECRET}@h`, 'line 2, column 30: Flow sequence in block collection must be sufficiently indented'],
  [`a: { esdb: //a, esdb: ${SECRET} }`, 'line 2, column 17: Map keys must be unique'],
  [`a: !vault esdb://a:${SECRET}@h`, 'line 2, column 4: this tag (!) is not known, or not for such a value'],
  [`a: !esdb://a:${SECRET}@h`, 'line 2, column 4: this tag (!) is not known, or not for such a value'],
  [`a: *a${SECRET}`, 'an alias (*name) has no anchor (&name) before it, or stands for too much'],
  [`%${SECRET}\n---\n`, 'line 2, column 1: YAML has no such directive (%)'],
])('what is wrong with %j is told by its place, not with what stands there', (text, fault) => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  const faults = faultsOf(() => readYaml(fileOf(`# of the log\n${text}`)));
  expect(faults).toEqual([expect.stringContaining(fault)]);
  expect(faults.join()).not.toContain(SECRET);
  expect(warn.mock.calls).toEqual([]);
});

it('a name that is a collection is told of by nobody', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  expect(readYaml(fileOf(`? [${SECRET}]\n: 1`))).toEqual({ [`[ ${SECRET} ]`]: 1 });
  expect(warn.mock.calls).toEqual([]);
});
