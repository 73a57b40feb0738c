import fc from 'fast-check';
import { expect, it, type RunnerTask } from 'vitest';

const small = fc.property(fc.integer(), (number) => number < 5);

it('a property that fails (any) tells the command that replays it', () => {
  const told = String.raw`PROPERTY_SEED=-?\d+ npx vitest run --config test/vitest\.config\.ts test/properties\.test\.ts `;
  const name = "-t 'a property that fails .any. tells the command that replays it'";
  expect(() => fc.assert(small)).toThrow(new RegExp(told + RegExp.escape(name)));
});

// Loaded there, and not above: the property before shows that it is set up.
it('PROPERTY_SEED is where a property begins', async () => {
  const { parametersBy } = await import('./properties.ts');
  expect(parametersBy({ PROPERTY_SEED: '-7' }).seed).toBe(-7);
  expect(() => fc.assert(small, { seed: -7 })).toThrow('PROPERTY_SEED=-7 npx');
});

it('PROPERTY_TIMES is how often each test of a file is run', async ({ task }) => {
  const { repeat } = await import('./properties.ts');
  const one = { type: 'test' } as RunnerTask;
  const other = { type: 'test' } as RunnerTask;
  repeat({ ...task.file, tasks: [one, { ...task.file, tasks: [other] }] }, 20);
  expect([one, other]).toEqual([
    { type: 'test', repeats: 19 },
    { type: 'test', repeats: 19 },
  ]);
});
