import { beforeEach, expect, it } from 'vitest';
import { ToldShortageError } from '../../../contracts/shortage.ts';
import { firstKey } from '../../../ledger/seals/first-key.ts';
import { SEAL_LIMITS } from '../../../ledger/seals/limits.ts';
import { keyOfFolder, type SealKey } from '../../../ledger/seals/seal-keys.ts';
import { promptPause, waitedMs } from '../../fixtures/ledger/prompt-pauses.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const SHORT = new ToldShortageError('EMFILE: too many open files', 'descriptors');
const { key } = keyOfFolder(temporaryFolder());

beforeEach(() => void waitedMs.splice(0));

function begun(read: () => SealKey, signal = new AbortController().signal) {
  const told: unknown[] = [];
  const logger = { error: (what: unknown) => void told.push(what) };
  return { told, key: firstKey(read, { signal, logger, timing: { pause: promptPause } }) };
}

it('the key that a sealer begins with is read once the machine has what that takes, which is told once', async () => {
  let tries = 0;
  const first = begun(() => {
    if (++tries < 4) throw SHORT;
    return key;
  });
  expect(await first.key).toBe(key);
  expect(first.told).toEqual([{ reason: SHORT.message }]);
  expect(waitedMs).toEqual(Array(3).fill(SEAL_LIMITS.retryMs));
});

it('that is waited for ends with the sealer', async () => {
  const ending = new AbortController();
  const first = begun(() => {
    ending.abort();
    throw SHORT;
  }, ending.signal);
  expect(await first.key).toBeNull();
});

it('of which anything else is amiss is not waited for', async () => {
  const first = begun(() => {
    throw new Error('holds no private key in PEM');
  });
  await expect(first.key).rejects.toThrow('holds no private key in PEM');
  expect(waitedMs).toEqual([]);
});
