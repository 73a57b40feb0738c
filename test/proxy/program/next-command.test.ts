import { expect, it } from 'vitest';
import { ROLES, reachOf } from '../../../contracts/permissions.ts';
import { nextCommand } from '../../../proxy/program/next-command.ts';
import { COMMANDS } from '../../commands/account-commands.ts';

const startedWith = { config: null, data: undefined, as: 'ada@example.com' };

it.each(Object.entries(COMMANDS))(
  '%s is named for the member who acts where some member may give it',
  (name, [action]) => {
    const next = nextCommand(startedWith, 'gateway', ...name.split(' '), 'acct_a');
    const isForThem = ROLES.some((role) => reachOf(action, role) !== null);
    expect(next).toBe(`gateway ${name} acct_a${isForThem ? ' --as ada@example.com' : ''}`);
  },
);

it('what is of more than one account is named for operators', () => {
  expect(nextCommand(startedWith, 'gateway', 'projections', 'status')).toBe('gateway projections status');
});
