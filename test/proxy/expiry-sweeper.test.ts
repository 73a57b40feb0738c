import pino from 'pino';
import { expect, it } from 'vitest';
import { grantId } from '../../contracts/ids.ts';
import { LIMITS } from '../../contracts/limits.ts';
import { microUsd } from '../../contracts/money.ts';
import { ExpirySweeper } from '../../proxy/expiry-sweeper.ts';
import { startTestGateway } from '../gateway/start-gateway.ts';

it('writes down expired credits once, and only after the grace in which a request may still burn them', async () => {
  let nowMs = Date.parse('2026-11-21T12:00:00.000Z');
  const clock = () => nowMs;
  const gateway = await startTestGateway({ clock });
  const expiresAtMs = nowMs + 60_000;
  await gateway.command({
    type: 'GrantCredits',
    grantId: grantId('grant_short'),
    source: 'promotion',
    amount: microUsd(7n),
    costBasis: microUsd(0n),
    priority: 1,
    effectiveAtMs: nowMs,
    expiresAtMs,
  });
  const accounts = gateway.gateway.projections.accounts;
  const sweeper = new ExpirySweeper({ log: gateway.log, accounts, clock, logger: pino({ level: 'silent' }) });
  const expired = async () => (await gateway.events()).filter((event) => event.type === 'CreditsExpired');

  nowMs = expiresAtMs + LIMITS.expiryGraceMs - 1;
  expect(await sweeper.sweep()).toBe(0);
  nowMs += 1;
  await sweeper.sweep();
  await sweeper.sweep();
  expect(await expired()).toEqual([
    { type: 'CreditsExpired', data: { grantId: 'grant_short', amount: 7n, expiredAt: '2026-11-21T12:01:00.000Z' } },
  ]);
  await sweeper.close();
  await gateway.stop();
});
