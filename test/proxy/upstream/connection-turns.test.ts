import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConnectionTurns } from '../../../proxy/upstream/connection-turns.ts';

/** Turns whose calls are named, in the order in which they began. */
function scene(connections: number, ofOneMax = connections, waitingMax = 1_000) {
  const turns = new ConnectionTurns({ connections, ofOneMax, waitingMax });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const take = (call: string): (() => void) | null =>
    turns.take(call.charAt(0), (end) => {
      begun.push(call);
      ends.set(call, end);
    });
  const end = async (call: string): Promise<void> => {
    ends.get(call)?.();
    await Promise.resolve();
  };
  return { turns, begun, take, end };
}

describe('turns for a connection', () => {
  it('are taken at once while there are some, then as they are given back', async () => {
    const { begun, take, end, turns } = scene(2);
    for (const call of ['a1', 'a2', 'a3', 'a4']) take(call);
    expect([begun, turns.waiting]).toEqual([['a1', 'a2'], 2]);
    await end('a1');
    expect(begun).toEqual(['a1', 'a2', 'a3']);
    // Twice is once.
    await end('a1');
    expect(begun).toHaveLength(3);
    await end('a2');
    expect([begun, turns.waiting]).toEqual([['a1', 'a2', 'a3', 'a4'], 0]);
  });

  it('go round the accounts that wait, however many calls each has', async () => {
    const { begun, take, end } = scene(1);
    for (const call of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) take(call);
    for (const call of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) await end(call);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });

  it('are not taken by who comes just when one is given back, before those that wait', async () => {
    const { begun, take, turns } = scene(1);
    const ends: (() => void)[] = [];
    turns.take('a', (end) => ends.push(end));
    take('b1');
    for (const end of ends) end();
    take('c1');
    await Promise.resolve();
    expect(begun).toEqual(['b1']);
  });

  it('leave some for others, whoever has many', async () => {
    const { begun, take, end } = scene(4, 2);
    for (const call of ['a1', 'a2', 'a3', 'b1', 'b2', 'b3']) take(call);
    expect(begun).toEqual(['a1', 'a2', 'b1', 'b2']);
    await end('b1');
    expect(begun.at(-1)).toBe('b3');
    await end('b2');
    // A connection is free, and a has its part.
    expect(begun).toHaveLength(5);
    await end('a1');
    expect(begun.at(-1)).toBe('a3');
  });

  it('are never had by a call that has left', async () => {
    const { begun, take, end, turns } = scene(1);
    take('a1');
    const leave = take('a2');
    take('b1');
    leave?.();
    leave?.();
    expect(turns.waiting).toBe(1);
    await end('a1');
    expect(begun).toEqual(['a1', 'b1']);
  });

  it('have a bound on those that wait', () => {
    const { take } = scene(1, 1, 1);
    expect([take('a1'), take('a2'), take('a3')]).toEqual([expect.anything(), expect.anything(), null]);
  });

  it('never go beyond connections or parts, and end with nobody waiting, whatever comes and goes', async () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('take', 'end', 'leave'), fc.nat(3), fc.nat()), { maxLength: 120 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 5 }),
        steps,
        async (most, ofOne, all) => {
          const underWay = new Map<string, () => void>();
          const left: { name: string; leave: () => void }[] = [];
          const turns = new ConnectionTurns({ connections: most, ofOneMax: ofOne, waitingMax: 1_000 });
          const gone = new Set<string>();
          for (const [index, [step, account, which]] of all.entries()) {
            if (step === 'take') {
              const name = `${account} ${index}`;
              const leave = turns.take(String(account), (end) => {
                expect(gone.has(name)).toBe(false);
                underWay.set(name, end);
              });
              if (leave !== null && !underWay.has(name)) left.push({ name, leave });
            } else if (step === 'end' && underWay.size > 0) {
              const [name, end] = [...underWay][which % underWay.size] ?? ['', () => undefined];
              underWay.delete(name);
              end();
              await Promise.resolve();
            } else if (step === 'leave' && left.length > 0) {
              const one = left[which % left.length];
              if (one !== undefined && !underWay.has(one.name)) gone.add(one.name);
              one?.leave();
            }
            const ofAccounts = [...underWay.keys()].map((name) => name.charAt(0));
            expect(underWay.size).toBeLessThanOrEqual(most);
            for (const of of ofAccounts)
              expect(ofAccounts.filter((one) => one === of).length).toBeLessThanOrEqual(ofOne);
          }
          for (let rounds = 0; underWay.size > 0; rounds++) {
            for (const [name, end] of [...underWay]) {
              underWay.delete(name);
              end();
            }
            await Promise.resolve();
            expect(rounds).toBeLessThan(200);
          }
          expect(turns.waiting).toBe(0);
        },
      ),
    );
  });
});
