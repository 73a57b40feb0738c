import { expect, it } from 'vitest';
import { accountId } from '../../contracts/ids.ts';
import { postMessage } from '../fixtures/gateway/post-message.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';

const REASON = ['--reason', 'its balance looks wrong'];
const WHY = 'parked by an operator: its balance looks wrong';

async function answerTo(gateway: TestGateway, key = gateway.key): Promise<string> {
  const answer = await postMessage(gateway, { model: 'svc-mock', key });
  const text = (await answer.rest()).toString();
  return answer.status === 200 ? '200' : `${answer.status} ${text}`;
}
const balanceOf = ({ gateway, accountId }: TestGateway) => {
  const { state } = gateway.process.projections.accounts.read(accountId);
  return state.type === 'open' ? state.balance : null;
};
const grant = (data: string) => runHereForJson('credits', 'grant', 'acct_test', '--usd', '1', '--data', data);

it('a parked account alone is refused, its events wait, also over a restart, and unparked it reads them', async () => {
  const first = await startTestGateway();
  const { data } = first;
  const other = accountId('acct_other');
  await runHereForJson('account', 'open', '--email', 'o@example.com', '--id', other, '--data', data);
  const { key } = (await runHereForJson('key', 'issue', other, '--data', data)) as { key: string };
  expect(await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data)).toMatchObject({
    parked: 'in the gateway',
  });
  expect(await answerTo(first)).toMatch(new RegExp(`^529 .*${WHY}`));
  expect(await answerTo(first, key)).toBe('200');
  await grant(data);
  await first.gateway.process.settlement.idle();
  await first.gateway.process.projections.whenWritten();
  expect((await runHere('projections', 'diff', '--all', '--data', data)).stdout).toMatch(
    /1 accounts that are hidden or parked/,
  );
  const { setAside } = await runHereForJson('projections', 'status', '--data', data);
  expect(setAside).toEqual([{ accountId: 'acct_test', cause: 'parked', revision: expect.any(Number), why: REASON[1] }]);
  await first.stop();
  // While no gateway runs: its row is left until the next start.
  await runHereForJson('projections', 'unpark', 'acct_test', '--data', data);
  expect((await runHereForJson('projections', 'status', '--data', data)).setAside).toEqual([]);
  await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data);

  const second = await startTestGateway({ data });
  expect(await answerTo(second)).toMatch(new RegExp(`^529 .*${WHY}`));
  expect(await runHereForJson('projections', 'rebuild', '--all', '--data', data)).toMatchObject({ differences: 0 });
  expect(await answerTo(second)).toMatch(/^529 /);
  const returned: string[] = [];
  second.gateway.process.projections.accounts.onReturned((id) => returned.push(id));
  await grant(data);
  expect(await runHereForJson('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({
    unparked: 'in the gateway',
  });
  expect([returned, balanceOf(second)]).toEqual([['acct_test'], 1_002_000_000n]);
  expect(await answerTo(second)).toBe('200');
  expect(await runHere('projections', 'unpark', 'acct_test', '--data', data)).toMatchObject({ exitCode: 3 });
  await second.gateway.process.projections.whenWritten();
  await second.stop();
  expect(await runHere('projections', 'diff', '--all', '--data', data)).toMatchObject({ exitCode: 0 });

  expect(await runHereForJson('projections', 'park', 'acct_test', ...REASON, '--data', data)).toMatchObject({
    parked: 'in the folder',
  });
  expect(await runHereForJson('projections', 'status', '--data', data)).toMatchObject({
    setAside: [{ cause: 'parked' }],
  });
});
