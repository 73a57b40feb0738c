import { Processes } from '../fixtures/processes/processes.ts';
import { hasCommit } from '../fixtures/processes/program-of-commit.ts';
import { optionsOf } from '../run-options.ts';
import { runBench } from './bench-run.ts';
import { readOptions, USAGE } from './options.ts';

/** `npm run bench`: the contenders side by side, in interleaved rounds, against the goals (README.md). */
const options = optionsOf(USAGE, () => {
  const read = readOptions(process.argv.slice(2));
  if (read.before !== null && !hasCommit(read.before))
    throw new Error(`--before: this clone's history has no ${read.before}`);
  return read;
});
try {
  const processes = new Processes();
  try {
    await runBench(options, processes);
  } finally {
    await processes.stopAll();
  }
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
