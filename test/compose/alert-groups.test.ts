import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { GROUPS } from './promtool.ts';

it('each group of alerts of compose.yaml has a file in which all of them fire', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('alerts.test.ts'));
  const covered = files.flatMap((name) => {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8');
    expect(text, name).toContain('expect(group.silentIn(context))');
    return [...text.matchAll(/new AlertGroup\('(\w+)'\)/g)].map(([, group]) => group);
  });
  expect(covered.sort()).toEqual([...GROUPS.keys()].sort());
});
