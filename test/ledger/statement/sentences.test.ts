import { describe, expect, it } from 'vitest';
import type { DomainEvent, EventType } from '../../../contracts/events.ts';
import { sentenceOf } from '../../../ledger/statement/sentences.ts';
import { memberLimitSet } from '../../fixtures/ledger/example-account.ts';
import { EXAMPLE_EVENTS, exampleOf } from '../../fixtures/ledger/example-events.ts';
import { LIMITS_OF_MEMBERS } from '../../fixtures/ledger/example-organization.ts';
import { BY_HAND } from '../../fixtures/ledger/example-payment-events.ts';

describe('the sentence of an event', () => {
  // Each type has an example: test/contracts/event-codec.test.ts.
  it.each(EXAMPLE_EVENTS.map((event) => [event.type, event] as const))(
    'is there for %s, on one line',
    (_type, event) => {
      expect(sentenceOf(event)).toMatch(/^\S.{8,}\S$/);
      expect(sentenceOf(event)).not.toMatch(/undefined|null|NaN|\[object|(?<![.\w])\d{4,}(?![-\w])/);
    },
  );

  it.each<[EventType, string]>([
    ['AccountOpened', 'opened as an organization of owner@example.com'],
    [
      'ApiKeyIssued',
      'key "ci" (ends in wxyz) issued, for opal-medium, svc-mock alone, at most 10.000000 USD a month, until 2026-12-05 10:20:30',
    ],
    ['CreditsGranted', 'trial credits granted (grant-1), until 2026-12-05 10:20:30'],
    [
      'CreditsDebited',
      'opal-medium (fast): 1,000 input, 7 output, 30,000 cache read, 1 5-minute cache write, ' +
        '0.000218 USD of it beyond the grants, req_019a5b3c00007000800000000000000a',
    ],
    ['LateUsageReported', /reported late: 0\.020003 USD wait for an operator's decision/.source],
    ['SpendThresholdCrossed', '80% of the monthly limit of the account reached: 8.000001 of 10.000000 USD in 2026-11'],
    [
      'ExceptionDropped',
      'operator dropped 15,000,000,003.000000 USD for good, never to be debited: cannot be, req_019a5b3c00007000800000000000000a',
    ],
  ])('says of %s what a person would', (type, said) => {
    if (type === 'LateUsageReported') expect(sentenceOf(exampleOf(type))).toMatch(new RegExp(said));
    else expect(sentenceOf(exampleOf(type))).toBe(said);
  });

  it('says who left, and who was removed', () => {
    const removed = (by: string) => {
      const data = { email: 'ben@example.com', by, removedAt: '2026-11-20T10:00:00.000Z' };
      return sentenceOf({ type: 'MemberRemoved', data });
    };
    const keys = 'keys of that member, if any, ended with that';
    expect(removed('ada@example.com')).toBe(`ada@example.com removed ben@example.com; ${keys}`);
    expect(removed('Ben@Example.com')).toBe(`ben@example.com left; ${keys}`);
  });

  it('says whose a limit is, whether it is soft, and at which percents it is told', () => {
    expect(LIMITS_OF_MEMBERS.map((event) => sentenceOf(event))).toEqual([
      'soft monthly limit of ben@example.com set to 10.000000 USD, told at 60%, 90%',
      '60% of the monthly limit of ben@example.com reached: 6.000001 of 10.000000 USD in 2026-11',
    ]);
    expect(sentenceOf(exampleOf('SpendLimitSet'), () => '"ci"')).toBe('monthly limit of key "ci" set to 0.000000 USD');
    expect(sentenceOf(memberLimitSet(null, 'ben@example.com'))).toBe('monthly limit of ben@example.com removed');
  });

  it('says who has done it where no other word of it does, and not that the gateway has', () => {
    const by = (type: EventType, actor: string): string => sentenceOf(exampleOf(type), () => '"ci"', actor);
    expect(by('AccountSuspended', 'grace')).toMatch(/^suspended by grace: /);
    expect(by('AccountReinstated', 'grace')).toMatch(/^suspension ended by grace: /);
    expect(by('PaymentAbandoned', 'grace')).toMatch(/^nothing was paid, ended by grace: /);
    expect(by('ApiKeyIssued', 'grace')).toMatch(/^key "ci" \(ends in wxyz\) issued.* by grace, for /);
    expect(by('ApiKeyRevoked', 'grace')).toBe('key "ci" revoked by grace');
    expect(by('SpendLimitSet', 'grace')).toBe('monthly limit of key "ci" set by grace to 0.000000 USD');
    expect(sentenceOf(memberLimitSet(null, 'ben@example.com'), undefined, 'grace')).toBe(
      'monthly limit of ben@example.com removed by grace',
    );
    const granted = exampleOf('CreditsGranted');
    if (granted.type !== 'CreditsGranted') throw new Error('the example is of a grant');
    const grant = (of: object): string =>
      sentenceOf({ ...granted, data: { ...granted.data, ...of } }, undefined, 'grace');
    expect(grant({ source: 'promotion' })).toMatch(/^promotional credits granted by grace \(grant-1\)/);
    expect(grant({ source: 'purchase' })).toMatch(/^purchased credits granted by grace \(grant-1\)/);
    for (const of of [{ source: 'trial' }, { source: 'plan' }, { source: 'purchase', grantId: 'payment_pi_1' }])
      expect(grant(of)).toMatch(/ granted \(/);
    for (const actor of ['system', 'payments'])
      expect(by('PaymentAbandoned', actor)).toBe(sentenceOf(exampleOf('PaymentAbandoned')));
  });

  it('says who has written down by hand that money came or went back, and why; and that a provider tells it', () => {
    const [refund, dispute, closed] = BY_HAND;
    const by = (event: DomainEvent | undefined, actor: string): string =>
      event === undefined ? '' : sentenceOf(event, undefined, actor);
    expect(by(refund, 'grace')).toBe('9.000000 USD of pi_1 refunded (re_2), written down by grace: one month too many');
    expect(by(dispute, 'grace')).toMatch(/ by whoever paid \(dp_2\), written down by grace: the bank took it back$/);
    expect(by(closed, 'grace')).toBe('dispute dp_2 was lost, written down by grace: the bank kept it');
    expect(by(exampleOf('PaymentSucceeded'), 'grace')).toMatch(/ \(pi_1, \S+\), confirmed by grace$/);
    for (const actor of ['system', 'payments']) {
      expect(by(exampleOf('PaymentRefunded'), actor)).toBe(
        '9.000000 USD of pi_1 refunded (re_1), as its provider tells',
      );
      expect(by(exampleOf('PaymentDisputed'), actor)).toMatch(/ \(dp_1\), as its provider tells$/);
      expect(by(exampleOf('DisputeClosed'), actor)).toBe('dispute dp_1 was won, as its provider tells');
      expect(by(exampleOf('PaymentSucceeded'), actor)).toBe(sentenceOf(exampleOf('PaymentSucceeded')));
    }
    // Of before, when nobody was asked why.
    expect(by(exampleOf('PaymentRefunded'), 'grace')).toMatch(/ \(re_1\), written down by grace$/);
    expect(sentenceOf(exampleOf('DisputeClosed'))).toBe('dispute dp_1 was won');
  });

  it('calls a key by its name where that is known', () => {
    expect(sentenceOf(exampleOf('ApiKeyRevoked'), () => '"ci"')).toBe('key "ci" revoked');
  });
});
