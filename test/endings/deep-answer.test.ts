import { afterAll, expect, it } from 'vitest';
import { type PostedMessage, postMessage, recorded } from '../fixtures/gateway/post-message.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { type Answer, head, json, write } from '../upstream/answer.ts';

/** An answer that is hard to weigh: however it is read, it reaches the client whole, and is accounted for. */
const logLines: string[] = [];
const { upstream, gateway } = await startOnUpstream(afterAll, { logLines });

const DEPTH = 20_000;
const nested = `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`;
const answerWith = (filling: number): string =>
  `{"type":"message","id":"msg_1","content":[{"type":"text","text":"${'x'.repeat(filling)}"},` +
  `{"type":"tool_use","id":"t","name":"n","input":${nested}}],"stop_reason":"end_turn"}`;
const inPieces = (body: string): Answer => [
  head(200, { 'content-type': 'application/json' }),
  ...Array.from({ length: Math.ceil(body.length / 8_192) }, (_, index) =>
    write(body.slice(index * 8_192, (index + 1) * 8_192)),
  ),
];

/** Reads as slowly as it takes for the gateway to hold its upstream back. */
async function readSlowly(answer: PostedMessage): Promise<Buffer> {
  const read: Buffer[] = [];
  for (let piece = await answer.next(); piece !== null; piece = await answer.next()) {
    read.push(piece);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return Buffer.concat(read);
}

it.each<[string, string, (body: string) => Answer, (answer: PostedMessage) => Promise<Buffer>]>([
  ['with its length', answerWith(10), json, (answer) => answer.rest()],
  ['in pieces without a length', answerWith(10), inPieces, (answer) => answer.rest()],
  ['to a client that reads slowly', answerWith(4_000_000), json, readSlowly],
])(
  'an answer without usage whose tool input nests deep reaches its client byte for byte and is charged for its text: %s',
  async (_how, body, answer, read) => {
    upstream.answerWith(answer(body));
    const got = await read(await postMessage(gateway));
    expect(got.equals(Buffer.from(body))).toBe(true);
    const { usages } = await recorded(gateway);
    expect(usages.at(-1)).toMatchObject({ outcome: 'completed', source: 'estimated', billable: true });
    expect(usages.at(-1)?.tokens.output).toBe(1_000);
    expect(logLines.filter((line) => line.includes('could not be metered'))).toEqual([]);
  },
);
