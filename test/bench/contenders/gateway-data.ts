import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { READY_MS_MAX } from '../ready-line.ts';

/** A data folder with a ledger in which accounts were opened, and nothing was served. */
export interface GatewayData {
  readonly folder: string;
  /** Of accounts with credits for any number of requests. */
  readonly keys: readonly string[];
  /** Of an account without credits. */
  readonly brokeKey: string;
}

/** Callers that pay, so that not every request is a line of one account's stream. */
const ACCOUNTS = 4;

/** By the commands of a program, which is the one that is then started on it. @param main its `proxy/main` */
export function makeGatewayData(main: string, folder: string): GatewayData {
  mkdirSync(folder, { recursive: true });
  const gateway = (...command: string[]): string => {
    const program = [main, ...command, '--data', folder, '--json'];
    return execFileSync(process.execPath, program, { encoding: 'utf8', timeout: READY_MS_MAX, stdio: 'pipe' });
  };
  const open = (name: string, ...more: string[]): string => {
    const id = `acct_${name}`;
    gateway('account', 'open', '--kind', 'personal', '--email', `${name}@example.com`, '--id', id, ...more);
    return id;
  };
  const issue = (id: string): string => String(JSON.parse(gateway('key', 'issue', id)).key);
  const keys = Array.from({ length: ACCOUNTS }, (_, index) => {
    const id = open(`bench${index}`);
    gateway('credits', 'grant', id, '--usd', '1000000', '--source', 'purchase');
    return issue(id);
  });
  const withoutTrial = join(folder, '..', 'without-trial.json');
  writeFileSync(withoutTrial, JSON.stringify({ trialUsd: '0.00' }));
  return { folder, keys, brokeKey: issue(open('broke', '--config', withoutTrial)) };
}
