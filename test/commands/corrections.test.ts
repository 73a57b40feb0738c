import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import type { AccountEvent } from '../../contracts/events.ts';
import { accountId, accountStream, commandOfRequest } from '../../contracts/ids.ts';
import { SYSTEM } from '../../contracts/permissions.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { decide } from '../../ledger/account/decide.ts';
import { executeCommand } from '../../ledger/account/execute-command.ts';
import { loadAccount } from '../../ledger/account/load-account.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { CARD, ms, requestOf, usageOf, usd } from '../fixtures/ledger/example-account.ts';
import { publishCards } from '../fixtures/ledger/life-of-exceptions.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';
import { restoredAs } from '../ledger/account/restored-as.ts';

const ADA = 'acct_ada';
const WHY = ['--reason', 'the answer was empty', '--actor', 'grace'];
const AT = '2026-11-06T12:00:00.000Z';

/** An account with five dollars of a purchase, of which a request has taken 0.000400. */
async function debitedProgram() {
  const program = endedLater(await programInProcess());
  program.clock = () => Date.parse(AT);
  await program.run('account', 'open', '--email', 'ada@example.com', '--id', ADA, '--trial-usd', '0');
  await program.run('credits', 'grant', ADA, '--usd', '5', '--id', 'bought', '--source', 'purchase');
  const command = { type: 'RecordUsage', usage: usageOf(1, 400), card: CARD } as const;
  const recording = { commandId: commandOfRequest(requestOf(1)), actor: 'gateway', recordedAt: AT };
  await executeCommand(program.log, accountId(ADA), command, SYSTEM, recording);
  return program;
}

it('a request is reversed in parts and once, and stands so in explanation, statement and books', async () => {
  const program = await debitedProgram();
  const reverse = ['debit', 'reverse', requestOf(1)];
  expect(await program.json(...reverse, '--usd', '0.0001', '--id', 'ticket-1', ...WHY)).toMatchObject({
    ...{ accountId: ADA, requestId: requestOf(1), reversalId: 'ticket-1', amountMicroUsd: '100' },
    balanceAfterMicroUsd: '4999700',
  });
  expect(await program.run(...reverse, ...WHY)).toMatch(/^reversed 0\.000300 USD of req_\w+ \(acct_ada, reversal_req_/);
  expect(await program.run(...reverse, ...WHY)).toMatch(/reversal_req_\w+ was made before/);
  await expect(program.run(...reverse, '--usd', '0.0001', '--id', 'x', ...WHY)).rejects.toMatchObject({
    message: expect.stringContaining('--usd: 0.000000 USD of request'),
  });
  const why = `grace reversed what was debited for ${requestOf(1)}`;
  await publishCards(program.log);
  const explain = ['ledger', 'explain', requestOf(1)];
  const explained = (await program.run(...explain)).replaceAll(/\s+/g, ' ');
  expect(explained).toContain(`0.000100 USD: ${why} (ticket-1); 0.000100 USD to bought: the answer was empty`);
  expect(explained).toContain(`0.000300 USD: ${why} (reversal_req_`);
  expect(await program.json(...explain)).toMatchObject({
    reversals: [{ data: { reversalId: 'ticket-1', amount: '100' } }, { data: { amount: '300' } }],
  });
  await inStatement(program, [
    [`${why} (ticket-1); 0.000100 USD to bought: the answer was empty`, '100'],
    [`${why} (reversal_${requestOf(1)}); 0.000300 USD to bought: the answer was empty`, '300'],
  ]);
  expect(await program.run('ledger', 'replay', ADA)).toMatch(/grace\s+reversed/);
  expect(await program.json('ledger', 'report', '--month', '2026-11')).toMatchObject({
    moved: { debited: '400', reversed: '400' },
    accounts: [{ id: ADA, spent: '0', balance: '5000000' }],
    notes: [{ what: 'debit reversed', why: 'the answer was empty (grace)' }, { what: 'debit reversed' }],
  });
});

it('the same grant again is so already, and another under its id is refused', async () => {
  const program = await debitedProgram();
  const grant = ['credits', 'grant', ADA, '--id', 'bought', '--source', 'purchase', '--usd'];
  expect(await program.run(...grant, '5')).toBe(
    'acct_ada: bought was made before\nnothing was written: it is so already\n',
  );
  expect(await program.json(...grant, '5')).toMatchObject({ grantId: 'bought', recordedAt: null });
  await expect(program.run(...grant, '6')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: expect.stringMatching(/^acct_ada: --id: grant bought was made before, .* an id of its own$/),
  });
});

it('the rest of what was done in part, and what was undone since, is another thing under an id of its own', async () => {
  const program = await debitedProgram();
  const isAnother = {
    exitCode: 3,
    message: expect.stringMatching(/--id: .* was made before, and this is another one/),
  };
  const asksForId = async (...args: readonly string[]) =>
    expect(program.run(...args, ...WHY)).rejects.toMatchObject(isAnother);
  const isSo = async (...args: readonly string[]) =>
    expect(await program.run(...args, ...WHY)).toContain('nothing was written: it is so already');
  await program.run('credits', 'grant', ADA, '--usd', '10', '--id', 'g1');
  const [revoke, restore] = [
    ['credits', 'revoke', ADA, '--grant', 'g1'],
    ['credits', 'restore', ADA],
  ];
  const [first, rest] = ['revocation_g1', 'rest'].map((id) => [...restore, '--revocation', id]) as [string[], string[]];
  await program.run(...revoke, '--usd', '4', ...WHY);
  await isSo(...revoke, '--usd', '4');
  await asksForId(...revoke);
  await program.run(...revoke, '--id', 'rest', ...WHY);
  await isSo(...revoke, '--id', 'rest');
  await program.run(...first, '--usd', '1', ...WHY);
  await isSo(...first, '--usd', '1');
  await asksForId(...first);
  await asksForId(...revoke, '--usd', '4');
  await program.run(...rest, ...WHY);
  await isSo(...rest);
  await asksForId(...revoke);
  const reverse = ['debit', 'reverse', requestOf(1)];
  await program.run(...reverse, '--usd', '0.0001', ...WHY);
  await isSo(...reverse, '--usd', '0.0001');
  await asksForId(...reverse);
  await program.run(...reverse, '--id', 'the rest', ...WHY);
  await isSo(...reverse, '--id', 'the rest');
});

it('what was revoked under an id like that of what comes back with its money is given back without an id, once', async () => {
  const program = await debitedProgram();
  await program.run('credits', 'grant', ADA, '--usd', '3', '--id', 'prize_won');
  await program.run('credits', 'revoke', ADA, '--grant', 'prize_won', '--usd', '1', ...WHY);
  const names = ['r_won', 'won', 'r_withdrawn_2', 'r_won_by_hand'];
  for (const id of names)
    await program.run('credits', 'revoke', ADA, '--grant', 'bought', '--usd', '1', '--id', id, ...WHY);
  const others = new Map([['r_won_by_hand', 'restoration_r_won_by_hand']]);
  for (const id of [...names, 'revocation_prize_won']) {
    const [restore, restorationId] = [['credits', 'restore', ADA, '--revocation', id], `restored_${id}_by_hand`];
    const isSo = { restorationId: others.get(id) ?? restorationId, amountMicroUsd: null };
    expect(await program.json(...restore, '--usd', '0.4', ...WHY)).toMatchObject({ ...isSo, amountMicroUsd: '400000' });
    expect(await program.json(...restore, '--usd', '0.4', ...WHY)).toMatchObject(isSo);
    await expect(program.run(...restore, ...WHY)).rejects.toThrow(/--id: .* this is another one/);
  }
  // Who has chosen it chooses another.
  await expect(
    program.run('credits', 'restore', ADA, '--revocation', 'won', '--id', 'restoration_won', ...WHY),
  ).rejects.toThrow(/--id: .* choose another/);
});

it('what was given back without an id before that was reserved is not given back again', async () => {
  const program = await debitedProgram();
  await program.run('credits', 'revoke', ADA, '--grant', 'bought', '--usd', '3', '--id', 'r_won', ...WHY);
  const { state, revision } = await loadAccount(program.log, accountId(ADA));
  const command: AccountCommand = {
    ...{ type: 'RestoreGrant', restorationId: 'x', revocationId: 'r_won', amount: usd(1) },
    ...{ reason: 'x', actor: 'grace', nowMs: ms(AT) },
  };
  const before = restoredAs(decide(command, state) as AccountEvent[], 'restoration_r_won');
  const events = encodeEvents(before, recordingBy('operator', ms(AT)));
  await program.log.append(accountStream(accountId(ADA)), revision, events);
  const restore = ['credits', 'restore', ADA, '--revocation', 'r_won', ...WHY];
  expect(await program.run(...restore, '--usd', '0.000001')).toMatch(/restoration_r_won was made before/);
  await expect(program.run(...restore)).rejects.toThrow(/--id: .* this is another one/);
});

it('a balance is adjusted either way, a grant revoked and restored, an account suspended, each by whom it was said', async () => {
  const program = await debitedProgram();
  const owed = await program.run('balance', 'adjust', ADA, '--down', '6', '--id', 'a1', ...WHY);
  expect(owed).toMatch(/downwards by 6\.000000 USD \(a1\), 1\.000400 USD of it owed; balance after it -1\.000400 USD/);
  expect(await program.run('balance', 'adjust', ADA, '--down', '6', '--id', 'a1', ...WHY)).toContain('was made before');
  await program.run('balance', 'adjust', ADA, '--up', '6', '--id', 'a2', ...WHY);
  for (const way of ['--up', '--down'])
    await expect(program.run('balance', 'adjust', ADA, way, '0', ...WHY)).rejects.toThrow(
      `${ADA}: ${way}: must be more than 0`,
    );
  for (const both of [[], ['--up', '1', '--down', '1']])
    await expect(program.run('balance', 'adjust', ADA, ...both, ...WHY)).rejects.toMatchObject({ exitCode: 2 });
  const revoke = ['credits', 'revoke', ADA, '--grant', 'a2', ...WHY];
  expect(await program.run(...revoke)).toMatch(/\(revocation_a2\); balance after it 0\.000000 USD\n/);
  expect(await program.run(...revoke)).toMatch(/revocation_a2 was made before\nnothing was written/);
  expect(await program.json('credits', 'restore', ADA, '--revocation', 'revocation_a2', ...WHY)).toMatchObject({
    balanceAfterMicroUsd: '4999600',
  });
  await program.run('account', 'suspend', ADA, ...WHY);
  await program.run('account', 'reinstate', ADA, ...WHY);
  expect(await program.json('account', 'show', ADA)).toMatchObject({ balance: '4999600', suspended: null });
  const { notes } = (await program.json('ledger', 'report', '--month', '2026-11')) as {
    notes: readonly { what: string; why: string }[];
  };
  expect(notes.map(({ what }) => what)).toEqual([
    ...['balance adjusted downwards (a1)', 'balance adjusted upwards (a2)'],
    ...[
      'credits revoked, administration (a2)',
      'revoked credits restored (a2)',
      'account suspended',
      'account reinstated',
    ],
  ]);
  expect(new Set(notes.map(({ why }) => why))).toEqual(new Set(['the answer was empty (grace)']));
  const why = 'the answer was empty';
  await inStatement(program, [
    [`grace adjusted the balance downwards (a1), 1.000400 USD of it beyond the grants: ${why}`, '-6000000'],
    [`grace adjusted the balance upwards (a2): ${why}`, '6000000'],
    [`grace revoked credits of a2 (administration; revocation_a2): ${why}`, '-4999600'],
    [`grace gave credits of a2 back that were revoked (revocation_a2); 4.999600 USD to a2: ${why}`, '4999600'],
    [`suspended by grace: ${why}`, null],
    [`suspension ended by grace: ${why}`, null],
  ]);
});

/** The corrections of its statement, one by one and in each form, with what each has moved in micro-USD. */
async function inStatement({ run }: ProgramInProcess, corrections: readonly (readonly [string, string | null])[]) {
  const of = (format: string) => run('account', 'statement', ADA, '--month', '2026-11', '--format', format);
  const { movements } = JSON.parse(await of('json')) as { movements: { what: string; amount: string | null }[] };
  // Behind the grant.
  expect(movements.slice(1).map(({ what, amount }) => [what, amount])).toEqual(corrections);
  for (const format of ['csv', 'html', 'table']) {
    const text = await of(format);
    for (const [what] of corrections) expect(text, format).toContain(what);
  }
}
