import { Argument, type Command, Option } from 'commander';
import type { AccountId } from '../../../contracts/ids.ts';
import { ROLES, type Role } from '../../../contracts/permissions.ts';
import type { OpenAccount } from '../../../ledger/account/account-state.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { keyStateAt } from '../../../ledger/account/key-state.ts';
import { isSameMember, keysAsIssued, memberOfKey } from '../../../ledger/account/members.ts';
import { accountArgument, emailArgument } from '../command-arguments.ts';
import { type CommandContext, recordingOf, withEventLog, withReadLog } from '../command-context.ts';
import { show, showWritten, table } from '../show.ts';
import { type Done, readAccount, runAccountCommand } from './run-account-command.ts';

/** `gateway member add|role|remove|list`: who belongs to an organization. */
export function addMemberCommands(member: Command, context: CommandContext): void {
  const of = (word: string, what: string): Command =>
    member
      .command(word)
      .description(what)
      .argument('<account>', 'account id', accountArgument)
      .argument('<email>', 'the member', emailArgument);

  of('add', 'make somebody a member of an organization')
    .addOption(new Option('--role <role>', 'what the member may do').choices(ROLES).default('member'))
    .addHelpText(
      'after',
      '\nExamples:\n  gateway member add acct_example ben@example.com\n  gateway member add acct_example eve@example.com --role admin --as ada@example.com',
    )
    .action(async (id: AccountId, email: string, { role }: { readonly role: Role }, command: Command) => {
      const nowMs = context.clock();
      await run(id, command, context, (by) => ({ type: 'AddMember', email, role, by, nowMs }), `${email} is ${role}`);
    });

  of('role', 'change what a member may do')
    .addArgument(new Argument('<role>', 'the new role').choices(ROLES))
    .addHelpText('after', '\nExample:\n  gateway member role acct_example ben@example.com admin')
    .action(async (id: AccountId, email: string, role: Role, _options: unknown, command: Command) =>
      run(id, command, context, (by) => ({ type: 'ChangeMemberRole', email, role, by }), `${email} is ${role}`),
    );

  of('remove', "end somebody's membership, and all of the member's keys with it, within a second and for good")
    .addHelpText(
      'after',
      '\nExamples:\n  gateway member remove acct_example ben@example.com\n  gateway member remove acct_example ben@example.com --as ben@example.com',
    )
    .action(async (id: AccountId, email: string, _options: unknown, command: Command) => {
      const nowMs = context.clock();
      const removing = (by: string): AccountCommand => ({ type: 'RemoveMember', email, by, nowMs });
      await run(id, command, context, removing, ({ before }) => {
        const ended = before.type === 'unopened' ? [] : keysInUse(before, email, nowMs);
        const text = `${email} is no member any more${ended.length === 0 ? '' : `; ended: ${ended.join(', ')}`}`;
        return { json: { endedKeys: ended }, text };
      });
    });

  member
    .command('list')
    .description("list an account's members")
    .argument('<account>', 'account id', accountArgument)
    .action(async (id: AccountId, _options: unknown, command: Command) => {
      await withReadLog(context, command, async (log) => {
        const { state } = await readAccount(context, log, id, 'ListMembers');
        const members = Object.values(state.organization.members).map(({ addedAtMs, ...one }) => ({
          ...one,
          since: new Date(addedAtMs).toISOString(),
          keysInUse: keysInUse(state, one.email, context.clock()).length,
        }));
        const rows = members.map((one) => [one.email, one.role, one.since, String(one.keysInUse)]);
        show(context, command, {
          json: members,
          text: () => table(['member', 'role', 'since', 'keys in use'], rows, context),
        });
      });
    });
}

async function run(
  id: AccountId,
  command: Command,
  context: CommandContext,
  asked: (by: string) => AccountCommand,
  done: string | ((result: Done) => { readonly json: object; readonly text: string }),
): Promise<void> {
  await withEventLog(context, command, async (log) => {
    const given = asked(recordingOf(context).actor);
    const result = await runAccountCommand(context, log, id, given);
    const { type: _type, nowMs: _nowMs, ...said } = { nowMs: null, ...given };
    const { json, text } = typeof done === 'string' ? { json: {}, text: done } : done(result);
    showWritten(context, command, result.recordedAt, {
      json: { accountId: id, ...said, ...json },
      text: `${id}: ${text}`,
    });
  });
}

const keysInUse = (state: OpenAccount, email: string, nowMs: number): string[] =>
  keysAsIssued(state)
    .filter((key) => keyStateAt(key, nowMs) === 'in use' && isSameMember(memberOfKey(state, key), email))
    .map(({ keyId }) => keyId);
