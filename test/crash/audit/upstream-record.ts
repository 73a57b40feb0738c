import { readFileSync } from 'node:fs';
import type { PlannedTokens } from '../planned-request.ts';

/** What the upstream wrote down of a request before it answered it. */
export interface RecordedRequest {
  readonly id: string;
  readonly model: string;
  readonly stream: boolean;
  readonly atMs: number;
  readonly path: string;
  /** Its `anthropic-beta`, name by name. */
  readonly betas?: readonly string[];
  readonly script: {
    readonly tokens: PlannedTokens;
    readonly ending: string;
    readonly serviceTier: string;
    readonly underBeta?: { readonly beta: string; readonly tokens: PlannedTokens };
    readonly serverToolUse?: Readonly<Record<string, number>>;
  };
}

/** The requests for messages that reached the upstream, in order of arrival. */
export function readUpstreamRecord(path: string): RecordedRequest[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RecordedRequest)
    .filter((request) => request.path === '/v1/messages');
}
