import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { type RequestId, requestId } from '../../contracts/ids.ts';
import { JournalForgetting } from '../../proxy/journal-forgetting.ts';

const [one, two, three] = ['req_1', 'req_2', 'req_3'].map(requestId) as [RequestId, RequestId, RequestId];

/** A journal that notes what it may forget, and views whose writes end when the test says. */
function scene() {
  const forgotten: RequestId[][] = [];
  const writes: PromiseWithResolvers<void>[] = [];
  const lines: string[] = [];
  const forgetting = new JournalForgetting({
    journal: { settle: (requests) => void forgotten.push([...requests]) },
    projections: {
      whenWritten: () => {
        const write = Promise.withResolvers<void>();
        writes.push(write);
        return write.promise;
      },
    },
    logger: pino({}, { write: (line: string) => lines.push(line) }),
  });
  return { forgetting, forgotten, writes, lines };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a settled request', () => {
  it('stays in the journal until the views are written with its debit', async () => {
    const { forgetting, forgotten, writes } = scene();
    forgetting.add(one);
    await turn();
    expect(forgotten).toEqual([]);
    writes[0]?.resolve();
    await turn();
    expect(forgotten).toEqual([[one]]);
  });

  it('that is settled while the views are being written waits for the next write', async () => {
    const { forgetting, forgotten, writes } = scene();
    forgetting.add(one);
    forgetting.add(two);
    forgetting.add(three);
    writes[0]?.resolve();
    await turn();
    expect(forgotten).toEqual([[one]]);
    writes[1]?.resolve();
    await turn();
    expect(forgotten).toEqual([[one], [two, three]]);
  });

  it('is kept, and that is told, where the views are not written any more', async () => {
    const { forgetting, forgotten, writes, lines } = scene();
    forgetting.add(one);
    writes[0]?.reject(new Error('the disk is gone'));
    await turn();
    expect(forgotten).toEqual([]);
    expect(lines.join('')).toContain('the journal keeps settled requests for the next start');
  });
});
