import { expect, it } from 'vitest';
import { readBesideGateway } from '../../ledger/journal/read-beside-gateway.ts';
import { journalFolder } from '../../ledger/journal/segment-folder.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';

it('a gateway that is stopped in order under load keeps nothing in its journal: whatever is settled is forgotten', async () => {
  const logLines: string[] = [];
  const gateway = await startTestGateway({ logLines });
  const asked = async (): Promise<number> => {
    const answer = await postMessage(gateway, { model: 'svc-mock' });
    await answer.rest();
    return answer.status;
  };
  let stopped: Promise<unknown> = Promise.resolve();
  const statuses = await Promise.all(
    Array.from({ length: 8 }, async (_, caller) => {
      for (let times = 0; times < 5; times++) expect(await asked()).toBe(200);
      if (caller === 7) stopped = gateway.stop();
    }),
  );
  await stopped;
  expect(statuses).toHaveLength(8);
  expect(logLines.join('')).not.toContain('keeps settled requests');
  expect(readBesideGateway(journalFolder(gateway.data))).toEqual([]);
});
