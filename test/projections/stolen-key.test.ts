import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { AccountEvent } from '../../contracts/events.ts';
import { type AccountId, accountId, keyId } from '../../contracts/ids.ts';
import { entriesOf } from '../../ledger/account/keyed-tree.ts';
import { KEYS } from '../../projections/balance-view.ts';
import type { Projections } from '../../projections/projections.ts';
import { compareWithFold } from '../../projections/rebuild/compare-with-fold.ts';
import { verifyRebuilt } from '../../projections/rebuild/verify-rebuilt.ts';
import { readSetAside } from '../../projections/rebuild/views-facts.ts';
import { keyIssued } from '../fixtures/ledger/example-account.ts';
import type { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { inTurnsThroughout } from '../fixtures/ledger/turns.ts';
import { execute, ownedBy, viewsFile, writeTo } from './example-ledger.ts';
import { caughtUp, LIVES, logOf, written } from './started-projections.ts';

inTurnsThroughout();

/** Those of the example ledger, by whose row comes first in the file. */
const [FIRST, LAST] = [accountId('a0'), accountId('a3')];
const SECRET = 'c7'.repeat(32);
const WHY =
  /^account-a\d revision \d+ \(ApiKeyIssued\): it cannot follow what stands before it: key key_thief has the secret that another key had first$/;

const issued = (id: string): AccountEvent => keyIssued({ keyId: keyId(id), sha256: SECRET });

/** A log in which `owner` was given a key, and `thief` the same secret later. */
function logWith(owner: AccountId, thief: AccountId): MemoryEventLog {
  const log = logOf();
  writeTo(log, owner, [issued('key_own')]);
  writeTo(log, thief, [issued('key_thief')]);
  return log;
}

function expectKept({ accounts }: Projections, owner: AccountId, thief: AccountId): void {
  expect(accounts.keys.find(SECRET)).toEqual({ accountId: owner, keyId: 'key_own' });
  expect(accounts.whyAside(owner)).toBeNull();
  expect(accounts.whyAside(thief)).toMatch(WHY);
  const { state } = accounts.read(thief);
  expect(state.type === 'open' && [...entriesOf(state.keys)].map(([id]) => id)).not.toContain('key_thief');
}

describe.each([
  ['before', FIRST, LAST],
  ['behind', LAST, FIRST],
])('an event that gives an account the secret of another one’s key, whose row comes %s it', (_, owner, thief) => {
  it('sets that account aside, and the key stays whose it was: folded, restored, and beside live views', async () => {
    const log = logWith(owner, thief);
    const path = viewsFile();
    const first = await caughtUp(log, path);
    expectKept(first.projections, owner, thief);
    await first.close();
    const again = await caughtUp(log, path);
    expectKept(again.projections, owner, thief);
    writeTo(log, thief, [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
    await again.close();
    const { projections, stopped } = await caughtUp(log, path);
    expectKept(projections, owner, thief);
    expect(projections.accounts.setAside.count).toBe(1);
    expect(stopped).toEqual([]);
  });

  it('is found by a fold of all of the log, and of that account alone, as it stands in the rows', async () => {
    const log = logWith(owner, thief);
    const path = await written(log);
    for (const only of [null, owner, thief]) {
      const differences: unknown[] = [];
      await compareWithFold({ path, log, only, onDifference: (difference) => differences.push(difference) });
      expect(differences).toEqual([]);
    }
    expect((await verifyRebuilt(path, log)).faults).toEqual([]);
  });

  it('is set aside, too, where the rows are of a program that gave the key to both', async () => {
    const log = logWith(owner, thief);
    const path = await written(log);
    execute(
      path,
      `INSERT INTO ${KEYS.name} SELECT '${thief}', 'key_thief', json_set(value, '$.keyId', 'key_thief'), 0
        FROM ${KEYS.name} WHERE account_id = '${owner}' AND id = 'key_own'`,
    );
    const restored = await caughtUp(log, path);
    expectKept(restored.projections, owner, thief);
    expect(existsSync(`${path}.damaged`)).toBe(true);
  });
});

describe('a secret that an account was given behind the event for which it is set aside', () => {
  /** Of whom nothing can be read, and of whom the beginning can. */
  const [NONE, SOME] = [accountId('none'), accountId('some')];
  const [LATER, OTHER] = [accountId('later'), accountId('other')];
  const unreadable: AccountEvent = { type: 'PlanChanged', data: { plan: 'team', terms: null } };

  function ruin(log: MemoryEventLog, id: AccountId): void {
    writeTo(log, id, [unreadable]);
    Object.assign(log.events.at(-1) ?? {}, { data: '{"cut' });
  }
  const opened = (log: MemoryEventLog, id: AccountId): void => {
    const [event = expect.fail('it has a life')] = LIVES.get(FIRST) ?? [];
    writeTo(log, id, [ownedBy(id, event)]);
  };
  const give = (log: MemoryEventLog, id: AccountId, key: string, secret: string): void =>
    writeTo(log, id, [keyIssued({ keyId: keyId(key), sha256: secret })]);

  it('is its own: no fold, and no verification, finds a difference of whom it is given later, who is set aside', async () => {
    const log = logOf();
    ruin(log, NONE);
    give(log, NONE, 'key_none', SECRET);
    opened(log, SOME);
    ruin(log, SOME);
    give(log, SOME, 'key_some', 'd8'.repeat(32));
    opened(log, LATER);
    give(log, LATER, 'key_later', SECRET);
    opened(log, OTHER);
    give(log, OTHER, 'key_other', 'd8'.repeat(32));
    await expectAgreed(log, [NONE, SOME, LATER, OTHER]);
  });

  it('is not its own where another one had it before, who is set aside for something else', async () => {
    const log = logOf();
    opened(log, LATER);
    give(log, LATER, 'key_later', SECRET);
    ruin(log, LATER);
    ruin(log, NONE);
    give(log, NONE, 'key_none', SECRET);
    await expectAgreed(log, [LATER, NONE]);
  });

  async function expectAgreed(log: MemoryEventLog, aside: readonly AccountId[]): Promise<void> {
    const path = await written(log);
    expect(readSetAside(path).map(({ accountId: id }) => id)).toEqual(aside.toSorted());
    expect((await verifyRebuilt(path, log)).faults).toEqual([]);
    for (const only of [null, ...aside]) {
      const differences: unknown[] = [];
      await compareWithFold({ path, log, only, onDifference: (difference) => differences.push(difference) });
      expect(differences).toEqual([]);
    }
  }
});
