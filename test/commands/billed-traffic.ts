import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, type Callable, post } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import type { FolderWithLedger } from './folder-with-ledger.ts';

interface TrafficOptions {
  readonly model?: string;
  readonly clients?: number;
  /** Behind each request. */
  readonly pauseMs?: number;
}

/** What a gateway says whose event loop is late: a machine that is busy itself is no want of it. */
const BEHIND = JSON.stringify('the gateway is behind with what it has; try again');

/** Requests one after the other, by each client, until `stop` or the gateway's end. */
export function traffic(gateway: Callable, { model = 'svc-mock', clients = 1, pauseMs = 0 }: TrafficOptions = {}) {
  const answered: string[] = [];
  const refused: string[] = [];
  let isOn = true;
  const run = async (): Promise<void> => {
    while (isOn) {
      const answer = await post(gateway, '/v1/messages', asking(model)).catch(() => null);
      if (answer === null) return;
      if (answer.status === 200) answered.push(String(answer.headers['request-id']));
      else if (answer.status !== 529 || !answer.text.includes(BEHIND)) refused.push(answer.text);
      await pause(pauseMs);
    }
  };
  const running = Promise.all(Array.from({ length: clients }, run));
  const stop = async (): Promise<void> => {
    isOn = false;
    await running;
  };
  return { answered, refused, running, stop };
}

/** What was answered is billed once each, and the views are what a fold of the log has. */
export async function expectRight(folder: FolderWithLedger, answered: readonly string[]): Promise<void> {
  const gateway = endedLater(await startTestGateway(folder));
  const used = (await gateway.events()).flatMap(({ type, data: of }) =>
    type === 'UsageRecorded' ? [of.requestId] : [],
  );
  expect(new Set(used).size).toBe(used.length);
  expect(new Set(used)).toEqual(new Set(used).union(new Set(answered)));
  await gateway.gateway.process.projections.whenWritten();
  const config = ['--config', join(folder.data, 'gateway.json')];
  expect(await runHere('projections', 'diff', '--all', ...config)).toMatchObject({ exitCode: 0 });
  expect(await runHere('ledger', 'verify', '--all', ...config)).toMatchObject({ exitCode: 0 });
}
