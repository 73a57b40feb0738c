import { expect, it } from 'vitest';
import { attemptId } from '../../../../contracts/ids.ts';
import { planInWords } from '../../../../proxy/program/accounts/plan-in-words.ts';
import { given } from '../../../fixtures/ledger/decider-specification.ts';
import { ms, openAccount, opened } from '../../../fixtures/ledger/example-account.ts';
import { catalogOf, subscribed, TEAM } from '../../../fixtures/ledger/example-plan-events.ts';

const DAY_MS = 86_400_000;

it('a plan whose renewal was declined is shown with why, when it is tried again, until when, and what to do', () => {
  const life = [opened, ...subscribed('team', '2026-09-20T00:00:00.000Z')];
  const nowMs = ms('2026-10-20T00:00:00.000Z');
  expect(planInWords(openAccount(life), nowMs)).toBe(
    'team, 2026-09-20T00:00:00.000Z to 2026-10-20T00:00:00.000Z, then renewed',
  );
  life.push(...given(...life).decided({ type: 'StartRenewal', provider: 'stripe', catalog: catalogOf(TEAM), nowMs }));
  const renewal = attemptId('renewal_2026-10-20T00:00:00.000Z');
  const declined = { attemptId: renewal, code: 'do_not_honor', isTerminal: false, nowMs };
  life.push(...given(...life).decided({ type: 'RecordPaymentFailure', ...declined }));
  const shown = (atMs: number) => planInWords(openAccount(life), atMs).split('; ')[1];
  const next = 'save another payment method, ask for the plan again, or buy credits';
  const end = 'the plan ends unless it is paid by 2026-11-03T00:00:00.000Z';
  const why = 'the renewal of the plan team was declined (do_not_honor)';
  expect(shown(nowMs)).toBe(`${why}, it is tried again at 2026-10-21T00:00:00.000Z, and ${end}: ${next}`);
  expect(shown(nowMs + DAY_MS)).toBe(`${why}, ${end}: ${next}`);
  const endMs = ms('2026-11-03T00:00:00.000Z');
  expect(shown(endMs - 1)).toBe(`${why}, ${end}: ${next}`);
  expect(shown(endMs)).toBe(`${why}, the time to pay it was over at 2026-11-03T00:00:00.000Z: ${next}`);
});
