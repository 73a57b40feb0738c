import { afterAll, expect, it } from 'vitest';
import { meSchema } from '../../contracts/answers.ts';
import type { CreditsDebited } from '../../contracts/events.ts';
import { exactNumber } from '../../contracts/exact-number.ts';
import { asking, call, get, post } from '../fixtures/gateway/call.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { runHere, runHereForJson } from '../fixtures/processes/run-here.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';

/** An upstream once reported 1e15 tokens of output: 15,000,000,003 USD were debited, and GET /me failed for ever. */
const REPORTED = 1e15;
const lines: string[] = [];
const settings = { metrics: { serve: { port: 0 } } };
const { upstream, gateway } = await startOnUpstream(afterAll, {
  settings,
  creditsMicroUsd: 1_000_000n,
  logLines: lines,
});

const me = async () => meSchema.parse((await get(gateway, '/me')).body);
const metric = async (name: string): Promise<number> => {
  const { text } = await call(gateway.gateway.metricsUrl ?? '', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};
const debits = async (): Promise<CreditsDebited[]> =>
  (await gateway.events()).flatMap((event) => (event.type === 'CreditsDebited' ? [event.data] : []));

it('debits what was held, and leaves the rest to an operator', async () => {
  upstream.answerWith(json(message({ tokens: { input: 1, output: REPORTED } })));
  const body = asking('opal-medium');
  expect((await post(gateway, '/v1/messages', body)).status).toBe(200);
  const [debit] = await debits();
  const held = 3 * (JSON.stringify(body).length + 2_048) + 15 * 100;
  expect(debit).toMatchObject({
    cost: 15_000_000_000_000_003_000_000n,
    lines: [{ tokens: 1 }, { tokens: REPORTED }],
    amount: BigInt(held),
    leftOut: 15_000_000_000_000_003n - BigInt(held),
    uncovered: 0n,
  });
  expect(await me()).toMatchObject({ available_credits: 1_000_000 - held, month: { account: { spent: held } } });
  expect(await metric('gateway_exceptions_open')).toBe(1);
  expect(await metric('gateway_exceptions_open_micro_usd')).toBe(Number(debit?.leftOut));
  const told = lines.map((line) => JSON.parse(line)).filter(({ msg }) => String(msg).includes('an operator'));
  expect(told).toMatchObject([{ level: 50, requestId: debit?.requestId, why: ['beyond its hold'] }]);
});

it('is listed and dropped by its request id alone, beside the running gateway', async () => {
  const [debit] = await debits();
  const program = ['--data', gateway.data];
  const { exceptions } = await runHereForJson('exception', 'list', ...program);
  expect(exceptions).toMatchObject([
    { accountId: 'acct_test', request: debit?.requestId, state: 'open', amountMicroUsd: String(debit?.leftOut) },
  ]);
  const id = String(debit?.requestId);
  expect((await runHere('exception', 'drop', id, ...program)).exitCode).toBe(2);
  expect((await runHere('exception', 'drop', 'req_nobody', '--reason', 'x', ...program)).exitCode).toBe(3);
  const dropped = await runHereForJson('exception', 'drop', id, '--reason', 'no model writes that', ...program);
  expect(dropped).toMatchObject({ accountId: 'acct_test', dropped: true, amountMicroUsd: String(debit?.leftOut) });
  const again = await runHere('exception', 'approve', id, '--reason', 'x', ...program);
  expect([again.exitCode, again.stderr]).toEqual([3, expect.stringContaining('already dropped')]);
  expect(await runHereForJson('exception', 'list', ...program)).toMatchObject({ exceptions: [] });
  expect(await runHereForJson('exception', 'list', 'acct_test', '--all', ...program)).toMatchObject({
    exceptions: [{ request: id, state: 'dropped' }],
  });
  await expect.poll(() => metric('gateway_exceptions_open')).toBe(0);
});

it('is in no answer a number that lost a digit, also where an operator has approved it', async () => {
  upstream.answerWith(json(message({ tokens: { input: 1, output: REPORTED } })));
  expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  const debit = (await debits()).at(-1);
  const id = String(debit?.requestId);
  const approved = await runHereForJson(
    ...['exception', 'approve', id, '--account', 'acct_test', '--reason', 'it did', '--data', gateway.data],
  );
  expect(approved).toMatchObject({ approved: true, amountMicroUsd: String(debit?.leftOut) });
  const all = await debits();
  const spent = all.reduce((sum, { amount }) => sum + amount, debit?.leftOut ?? 0n);
  const text = async () => (await get(gateway, '/me')).text;
  await expect.poll(text).toContain(`"available_credits":${1_000_000n - spent}`);
  expect(await text()).toContain(`"account":{"limit":null,"spent":${spent}}`);
  expect(exactNumber(spent)).not.toBeTypeOf('number');
  expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(402);
});
