import fc from 'fast-check';
import { beforeAll, expect, type RunnerTask } from 'vitest';

/**
 * Set up before each test file: a property that fails tells the command that replays it. PROPERTY_SEED begins with the same
 * again, PROPERTY_TIMES=20 runs each test twenty times, with a seed of its own each where none is named.
 */
export function parametersBy({ PROPERTY_SEED: seed }: NodeJS.ProcessEnv): fc.GlobalParameters {
  return {
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    reporter: (details) => {
      if (!details.failed) return;
      const told = `${fc.defaultReportMessage(details)}\n\nThe same again:\n  ${commandOf(details.seed)}\n`;
      throw new Error(told, { cause: details.errorInstance });
    },
  };
}

export function repeat(task: RunnerTask, times: number): void {
  if (task.type === 'test') task.repeats = times - 1;
  else for (const one of task.tasks) repeat(one, times);
}

function commandOf(seed: number): string {
  const { testPath = '', currentTestName = '' } = expect.getState();
  const name = currentTestName.split(' > ').at(-1) ?? '';
  const file = testPath.slice(testPath.indexOf('/test/') + 1);
  const quoted = name.replaceAll(/[.*+?^${}()|[\]\\']/g, '.');
  return `PROPERTY_SEED=${seed} npx vitest run --config test/vitest.config.ts ${file} -t '${quoted}'`;
}

fc.configureGlobal(parametersBy(process.env));
const { PROPERTY_TIMES: times } = process.env;
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads there which fixtures are wanted: none.
if (times !== undefined) beforeAll(({}, suite) => repeat(suite, Number(times)));
