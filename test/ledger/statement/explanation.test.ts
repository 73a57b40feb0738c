import { expect, it } from 'vitest';
import type { AccountEvent } from '../../../contracts/events.ts';
import { RequestExplainer } from '../../../ledger/statement/explanation.ts';
import { given } from '../../fixtures/ledger/decider-specification.ts';
import {
  ACCOUNT,
  granted,
  keyIssued,
  lifeWith,
  opened,
  requestOf,
  usageOf,
  usd,
} from '../../fixtures/ledger/example-account.ts';
import { storedLife } from './stored-life.ts';

const capped = lifeWith([opened, keyIssued(), granted('g1', 1_000)], usageOf(1, 10, { hold: usd(4) }));
const end = (type: 'ApproveException' | 'DropException'): AccountEvent[] =>
  given(...capped).decided({ type, requestId: requestOf(1), reason: 'agreed', actor: 'operator' });

const explained = (...events: readonly AccountEvent[]) => {
  const explainer = new RequestExplainer(ACCOUNT, requestOf(1));
  for (const recorded of storedLife(events)) explainer.take(recorded);
  return explainer.explanation();
};

it('has a request with its debit, and how its exception has ended', () => {
  expect(explained(...capped, ...end('ApproveException'))).toMatchObject({
    ...{ faults: [], usage: { revision: 3 }, debit: { revision: 4 }, dropped: null },
    ...{ balanceBefore: 1_000n, balanceAfter: 996n, approved: { revision: 5, data: { amount: 6n } } },
  });
});

it.each([
  ['ApproveException', 'ExceptionApproved'],
  ['DropException', 'ExceptionDropped'],
] as const)('tells of an exception that has ended twice: %s', (command, type) => {
  const ended = end(command);
  expect(explained(...capped, ...ended, ...ended)?.faults).toContain(
    `revision 6 is its second ${type}; the first is revision 5`,
  );
});
