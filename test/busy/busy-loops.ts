import { type ChildProcess, spawn } from 'node:child_process';

/** Burns a core until the time is up or its parent is gone; asking for either takes a small part of its time. */
const PROGRAM = `
  const [untilMs, parent] = process.argv.slice(1).map(Number);
  console.log('busy');
  while (Date.now() < untilMs && process.ppid === parent) for (let turns = 0; turns < 1e7; turns++);`;

/** Processes of ordinary priority that never wait. However this process ends, they end with it, or after `boundMs`. */
export function startBusyLoops(count: number, boundMs: number): ChildProcess[] {
  const args = ['--eval', PROGRAM, String(Date.now() + boundMs), String(process.pid)];
  return Array.from({ length: count }, () => spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
}

export function stopBusyLoops(loops: readonly ChildProcess[]): void {
  for (const loop of loops) loop.kill('SIGKILL');
}
