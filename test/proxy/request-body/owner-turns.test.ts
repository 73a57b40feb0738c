import { expect, it } from 'vitest';
import { accountId } from '../../../contracts/ids.ts';
import { OwnerTurns } from '../../../proxy/request-body/owner-turns.ts';

function taken(turns: OwnerTurns<string>): string[] {
  const items: string[] = [];
  for (let item = turns.take(); item !== null; item = turns.take()) items.push(item);
  return items;
}

function waiting(items: readonly string[]): OwnerTurns<string> {
  const turns = new OwnerTurns<string>();
  for (const item of items)
    turns.add({ accountId: accountId(`acct_${item.slice(0, 2)}`), hasPaid: item.startsWith('p') }, item);
  return turns;
}

it('gives every second turn to all that never paid together, and each account its turn among its own', () => {
  const turns = waiting(['u1a', 'u1b', 'u2a', 'u3a', 'p1a', 'p1b', 'p2a']);
  expect(turns.size).toBe(7);
  expect(turns.sizeOf({ accountId: accountId('acct_u1'), hasPaid: false })).toBe(2);
  expect(taken(turns)).toEqual(['p1a', 'u1a', 'p2a', 'u2a', 'p1b', 'u3a', 'u1b']);
  expect(turns.size).toBe(0);
});

it('gives a turn that one kind does not want to the other', () => {
  expect(taken(waiting(['u1a', 'u1b']))).toEqual(['u1a', 'u1b']);
  expect(taken(waiting(['p1a', 'p1b']))).toEqual(['p1a', 'p1b']);
  const turns = waiting(['u1a', 'p1a']);
  expect([turns.takePaid(), turns.takePaid()]).toEqual(['p1a', null]);
});
