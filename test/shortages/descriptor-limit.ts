import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';

/** Whether the limits of a process that runs can be changed here. */
export const canLimit = ((): boolean => {
  try {
    softLimit(process.pid);
    return true;
  } catch {
    return false;
  }
})();

/** Leaves a process that runs no more than so many descriptors beside those that it has. Returns what ends that. */
export function leaveDescriptors(pid: number, free: number): () => void {
  const before = softLimit(pid);
  setSoftLimit(pid, String(readdirSync(`/proc/${pid}/fd`).length + free));
  return () => setSoftLimit(pid, before);
}

/** Leaves it none, whatever it closes meanwhile. Returns what ends that. */
export function takeAllDescriptors(pid: number): () => void {
  const before = softLimit(pid);
  setSoftLimit(pid, '0');
  return () => setSoftLimit(pid, before);
}

function softLimit(pid: number): string {
  const args = ['--pid', String(pid), '--nofile', '--noheadings', '--output', 'SOFT'];
  return execFileSync('prlimit', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

function setSoftLimit(pid: number, limit: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:`], { stdio: 'pipe' });
}
