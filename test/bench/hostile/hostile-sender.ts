import { setPriority } from 'node:os';
import { HOSTILE_BODIES, type HostileBody } from './hostile-bodies.ts';

/** What the sender is told, and what it tells when it is told to stop: how many bodies were answered, and with what. */
export type HostileCommand =
  | { readonly type: 'start'; readonly url: string; readonly key: string; readonly body: HostileBody }
  | { readonly type: 'stop' };
export interface HostileReply {
  readonly statuses: Readonly<Record<string, number>>;
}

/** Bodies that are under way at once. */
const LANES = 2;
const NICENESS = 10;

/** A process of its own that sends one body again and again. An attacker's machine is another: it takes no turns from others here. */
setPriority(NICENESS);
let isOn = false;
let lanes: Promise<unknown> = Promise.resolve();
let statuses: Record<string, number> = {};

process.on('message', async (command: HostileCommand) => {
  if (command.type === 'start') {
    const body = Buffer.from(HOSTILE_BODIES[command.body]());
    isOn = true;
    statuses = {};
    lanes = Promise.all(Array.from({ length: LANES }, () => send(command.url, command.key, body)));
    process.send?.({ statuses } satisfies HostileReply);
    return;
  }
  isOn = false;
  await lanes;
  process.send?.({ statuses } satisfies HostileReply);
});
process.once('disconnect', () => process.exit(0));

async function send(url: string, key: string, body: Buffer): Promise<void> {
  while (isOn) {
    const status = await statusOf(url, key, body);
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
}

async function statusOf(url: string, key: string, body: Buffer): Promise<string> {
  try {
    const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': key }, body: new Uint8Array(body) });
    await response.arrayBuffer();
    return String(response.status);
  } catch {
    // It was closed under its body: that is an answer, too.
    return 'closed';
  }
}
