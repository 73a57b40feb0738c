import { expect, it } from 'vitest';
import { importedNames, isTest, SOURCES } from '../../source-files.ts';

/*
 * Whoever gives a command of an account, or writes to its stream, does so through the function that asks who may (authorize.ts). Settlement
 * alone decides without it: usage and debits, which nobody but the gateway gives.
 */

const OURS = [...SOURCES].filter(([file]) => !isTest(file));

it('the decider is asked by who asks whether the actor may, and by settlement, alone', () => {
  const asking = OURS.filter(([file, text]) =>
    importedNames(file, text).some(
      ({ from, name }) => from === 'ledger/account/decide.ts' && (name === 'decide' || name === '*'),
    ),
  );
  expect(asking.map(([file]) => file)).toEqual([
    'ledger/account/authorize.ts',
    'ledger/settlement/append-group.ts',
    'projections/after-loss/settles-by-itself.ts',
  ]);
  // What it is asked by these is a request's.
  for (const [file, text] of asking.slice(1)) {
    expect(text.match(/\bdecide\((.*?)\)/)?.[0], file).toMatch(/^decide\(commandOf\(/);
    expect(text.match(/\bdecide\(/g)?.length, file).toBe(1);
  }
});

it('what is appended to the stream of an account was decided there, in three places', () => {
  const ofAccounts = OURS.filter(([, text]) => text.includes('accountStream(') && text.includes('.append('));
  expect(ofAccounts.map(([file]) => file)).toEqual([
    'ledger/account/execute-command.ts',
    'ledger/settlement/append-group.ts',
    'ledger/statement/close-statements.ts',
  ]);
  const unasked = ofAccounts.filter(([, text]) => !/\bdecideAs\(|\bdecide\(commandOf\(/.test(text));
  expect(unasked.map(([file]) => file)).toEqual([]);
});
