import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Action, FOR_MEMBERS, HOLDERS, PERMISSIONS, reachOf } from '../../contracts/permissions.ts';

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const ACTIONS = Object.keys(PERMISSIONS) as Action[];
const holdersOf = (action: Action): string[] => HOLDERS.filter((holder) => reachOf(action, holder) !== null);

it("the README's table of who may do what is the one in the code", () => {
  const rows = ACTIONS.map((action) => {
    const cells = HOLDERS.map((holder) => reachOf(action, holder) ?? '').map((reach) =>
      reach === 'any' ? 'yes' : reach,
    );
    return `| ${[PERMISSIONS[action].does, ...cells].join(' | ')} |`
      .replaceAll('|  |', '| |')
      .replaceAll('|  |', '| |');
  });
  const table = [`| who may | ${HOLDERS.join(' | ')} |`, `| --- |${' --- |'.repeat(HOLDERS.length)}`, ...rows].join(
    '\n',
  );
  expect(README).toContain(`\n${table}\n\n`);
});

it('the README names the commands that members may give as they are named in the code', () => {
  const inWords = (names: readonly string[]): string =>
    names
      .map((name) => `\`${name}\``)
      .join(', ')
      .replace(/, (?=[^,]*$)/u, ' and ');
  const { groupsOfOneAccount, forEverybody } = FOR_MEMBERS;
  expect(README.replaceAll('\n', ' ')).toContain(
    `A member may give the commands of one account (in ${inWords(groupsOfOneAccount)}, those that name it first), and ${inWords(forEverybody)}, for`,
  );
});

it('every action has somebody who may do it, and a member alone never anything but its keys, and to leave', () => {
  for (const action of ACTIONS) expect(holdersOf(action), action).not.toEqual([]);
  expect(ACTIONS.filter((action) => reachOf(action, 'member') !== null)).toEqual([
    'RemoveMember',
    'IssueKey',
    'RotateKey',
    'RevokeKey',
    'ListKeys',
  ]);
});

it('an admin may do so much, and an owner all of that and what is paid for, and neither anything else', () => {
  const ofAdmins: Action[] = [
    ...(['AddMember', 'ChangeMemberRole', 'RemoveMember', 'IssueKey', 'RotateKey', 'RevokeKey'] as const),
    ...(['SetSpendLimit', 'ShowAccount', 'ListMembers', 'ListKeys', 'ShowStatement'] as const),
  ];
  const ofOwners: Action[] = [
    ...(['ChangePlan', 'SavePaymentMethod', 'RemovePaymentMethod', 'StartPurchase', 'EndPurchase'] as const),
    ...(['ConfigureAutoReload', 'ListPayments'] as const),
  ];
  const doneBy = (role: 'admin' | 'owner'): Action[] => ACTIONS.filter((action) => reachOf(action, role) !== null);
  expect(doneBy('admin').toSorted()).toEqual(ofAdmins.toSorted());
  expect(doneBy('owner').toSorted()).toEqual([...ofAdmins, ...ofOwners].toSorted());
});

it('money, exceptions and suspension are for operators alone: no member’s, and not the gateway’s own', () => {
  const actions: Action[] = [
    ...(['GrantCredits', 'AdjustBalance', 'ReverseDebit', 'RevokeGrant', 'RestoreGrant', 'ReinstateCredits'] as const),
    ...(['ApproveException', 'DropException', 'EndExceptions', 'SuspendAccount', 'ReinstateAccount'] as const),
  ];
  for (const action of actions) expect(holdersOf(action), action).toEqual(['operator']);
});
