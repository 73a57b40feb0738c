import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Starts what its arguments say, tells its process id, and kills it when standard input ends, which it does however
 * this process ends.
 */
const SCRIPT = `
exec 3<&0
"$@" </dev/null 3<&- & child=$!
echo "process $child"
(read -r line <&3; kill -9 $child) & watcher=$!
wait $child
kill $watcher
`;

/**
 * A program that does not outlive this process, also where this is killed, and that ends when its standard input is ended.
 * The first line on standard output is `process` and its id; the child that is given is a shell that waits for it.
 */
export function spawnWithItsParent(...command: readonly string[]): ChildProcess {
  const child = spawn('sh', ['-c', SCRIPT, 'sh', ...command], { stdio: ['pipe', 'pipe', 'pipe'] });
  // Where it has ended by itself there is nobody to tell.
  child.stdin?.on('error', () => undefined);
  return child;
}

/** The process id that such a line tells; null where it is another line. */
export function processIdIn(line: string): number | null {
  const id = /^process (\d+)$/.exec(line)?.[1];
  return id === undefined ? null : Number(id);
}
