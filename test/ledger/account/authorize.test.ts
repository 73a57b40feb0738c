import { describe, expect, it } from 'vitest';
import { type Action, type Actor, PERMISSIONS, reachOf, SYSTEM } from '../../../contracts/permissions.ts';
import { INITIAL_ACCOUNT } from '../../../ledger/account/account-state.ts';
import { type Asked, authorize } from '../../../ledger/account/authorize.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { OPERATOR } from '../../fixtures/ledger/actors.ts';
import { fold } from '../../fixtures/ledger/decider-specification.ts';
import { opened } from '../../fixtures/ledger/example-account.ts';

const ACTIONS = Object.keys(PERMISSIONS) as Action[];
const account = fold([opened]);
const member = (email: string): Actor => ({ type: 'member', email });
const asked = (type: Action): Asked => ({ type }) as Asked;

describe.each(ACTIONS)('%s', (action) => {
  it.each([
    ['operator', OPERATOR],
    ['system', SYSTEM],
    ['owner', member('OWNER@example.com')],
  ] as const)('is for the %s exactly where the table says so', (holder, actor) => {
    const refused = authorize(actor, asked(action), account);
    if (reachOf(action, holder) !== null) expect(refused).toBeNull();
    else
      expect(refused).toMatchObject({ code: 'not_permitted', message: expect.stringMatching(`^${holder} may not `) });
  });

  it('tells nobody else whether there is such an account', () => {
    const toStranger = authorize(member('eve@example.com'), asked(action), account);
    expect(toStranger).toEqual(decide({ type: 'SuspendAccount', reason: 'x' }, INITIAL_ACCOUNT));
    expect(authorize(member('eve@example.com'), asked(action), INITIAL_ACCOUNT)).toEqual(toStranger);
  });
});
