import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { AttackSite } from './attack-site.ts';

/** What a client that pays, and a probe, got while something else went on. */
interface Watched {
  /** Statuses of the paying client's requests. */
  readonly statuses: readonly number[];
  readonly probes: readonly number[];
}

/** What a process holds, as Linux tells it. */
export interface Held {
  readonly descriptors: number;
  readonly residentMib: number;
}

export function heldBy(pid: number): Held {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, residentMib: Number(kib) / 1024 };
}

/** What the gateway itself says that it has of bodies. */
export async function bodyBytes({ metricsUrl }: AttackSite): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^gateway_body_bytes (\S+)$/m.exec(text)?.[1]);
}

/** Lets a paying client send one request after another, and a probe ask, for as long as the work takes. */
export async function watchBeside({ url, payingKey }: AttackSite, work: () => Promise<unknown>): Promise<Watched> {
  const statuses: number[] = [];
  const probes: number[] = [];
  let isOver = false;
  const pay = async (): Promise<void> => {
    while (!isOver) {
      const response = await fetch(`${url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': payingKey, 'content-type': 'application/json' },
        body: BODY,
      });
      await response.arrayBuffer();
      statuses.push(response.status);
      const probe = await fetch(`${url}/healthz`);
      await probe.arrayBuffer();
      probes.push(probe.status);
      await setTimeout(5);
    }
  };
  const paying = pay();
  try {
    await work();
  } finally {
    isOver = true;
  }
  await paying;
  return { statuses, probes };
}

const BODY = JSON.stringify({
  model: 'opal-medium',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hello' }],
});
