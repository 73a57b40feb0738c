import { describe, expect, it } from 'vitest';
import { notesOn } from '../../ledger/statement/sentences.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { end, hangUp, head, reset, silence, write } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { event } from '../upstream/stream-events.ts';
import { events, gateway, nothingIsHeld, partOfStream, start, upstream, usagesReach } from './ending-scene.ts';

const [_opening = Buffer.alloc(0)] = events;

describe('the upstream breaks off in the middle', () => {
  const broken = [
    ['a reset', reset],
    ['a hang-up', hangUp],
  ] as const;

  it.each(broken)(
    'of a stream by %s: the client gets the error event and is cut; nothing is charged',
    async (_how, ending) => {
      await start();
      upstream.answerWith([head(), ...partOfStream.map(write), ending]);
      const { body, isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
      expect(isCut).toBe(true);
      const received = body.toString('utf8');
      const sent = Buffer.concat(partOfStream).toString('utf8');
      expect(received.startsWith(sent)).toBe(true);
      expect(received.slice(sent.length)).toMatch(
        /^event: error\ndata: \{"type":"error","error":\{"type":"api_error".*\}\n\n$/,
      );
      const { usages, debits } = await usagesReach(1);
      expect(usages).toMatchObject([
        { outcome: 'upstream_interrupted', source: 'reported', billable: false, tokens: { input: 1_000 } },
      ]);
      expect(debits).toHaveLength(0);
      await nothingIsHeld();
    },
  );

  it('of a stream whose length its upstream announced: the error event has a place', async () => {
    await start();
    const bytes = partOfStream.join('');
    upstream.answerWith([
      head(200, { 'content-type': 'text/event-stream', 'content-length': Buffer.byteLength(bytes) }),
      write(bytes),
      end,
    ]);
    const { body, isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
    expect(isCut).toBe(true);
    expect(body.toString('utf8')).toMatch(/\n\nevent: error\ndata: .*\n\n$/s);
  });

  it('by silence: likewise, when the time between two pieces is over', async () => {
    await start({ provider: { idleMs: 150 } });
    upstream.answerWith([head(), ...partOfStream.map(write), silence]);
    const { body, isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
    expect(isCut).toBe(true);
    expect(body.toString('utf8')).toContain('event: error');
    expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'upstream_interrupted' }]);
  });

  it('by the end of its total time: likewise', async () => {
    // Long enough for the head to come first on any machine.
    await start({ provider: { totalMs: 3_000 } });
    upstream.answerWith([head(), ...partOfStream.map(write), silence]);
    const { isCut } = await (await postMessage(gateway, { stream: true })).restOrCut();
    expect(isCut).toBe(true);
    expect((await usagesReach(1)).usages).toMatchObject([{ outcome: 'upstream_interrupted' }]);
  });

  it('is charged as reported where the configuration says so', async () => {
    await start({ settings: { chargeInterrupted: 'reported' } });
    upstream.answerWith([head(), ...partOfStream.map(write), reset]);
    await (await postMessage(gateway, { stream: true })).restOrCut();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'upstream_interrupted', billable: true }]);
    expect(debits).toHaveLength(1);
  });

  /** Up to where the model would say something. */
  const opening = (usage: unknown) => [
    head(),
    write(event('message_start', { type: 'message_start', message: { ...message(), content: [], usage } })),
    reset,
  ];

  it('is charged for uses alone where they are all that was reported, and is told as that', async () => {
    const logLines: string[] = [];
    await start({ settings: { chargeInterrupted: 'reported' }, logLines });
    upstream.answerWith(opening({ server_tool_use: { web_fetch_requests: 2 } }));
    await (await postMessage(gateway, { stream: true })).restOrCut();
    const { usages } = await usagesReach(1);
    expect(usages).toMatchObject([{ source: 'reported', billable: true, uses: { web_fetch_requests: 2 } }]);
    expect(logLines.join('')).not.toContain('estimated');
    const { stdout } = await runHere('--data', gateway.data, 'ledger', 'explain', usages[0]?.requestId ?? '');
    expect(stdout).toMatch(/^usage +as the provider reported it$/m);
  });

  it('is no estimate where nothing was reported', async () => {
    const logLines: string[] = [];
    await start({ settings: { chargeInterrupted: 'reported' }, logLines });
    upstream.answerWith(opening(null));
    await (await postMessage(gateway, { stream: true })).restOrCut();
    const { usages, debits } = await usagesReach(1);
    expect(usages).toMatchObject([{ outcome: 'upstream_interrupted', source: 'estimated', billable: true }]);
    expect(debits).toHaveLength(0);
    expect(logLines.join('')).not.toContain('usage is estimated');
    expect(usages.flatMap((usage) => notesOn(usage))).toEqual(['cut off by the upstream']);
    const { stdout } = await runHere('--data', gateway.data, 'ledger', 'explain', usages[0]?.requestId ?? '');
    expect(stdout).toMatch(/^usage +none: the provider reported no tokens$/m);
  });
});
