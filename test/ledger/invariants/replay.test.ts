import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountStream } from '../../../contracts/ids.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../../fixtures/ledger/memory-event-log.ts';
import { recordedLife } from '../../fixtures/ledger/recorded-life.ts';
import { inTurnsThroughout, passing } from '../../fixtures/ledger/turns.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';
import { dump, viewsFile } from '../../projections/example-ledger.ts';
import { caughtUp, head } from '../../projections/started-projections.ts';
import { type Commands, lived, wholeHistories } from '../model/histories.ts';
import { foldedTexts } from './fold-texts.ts';
import { appendsOf, ledgers, livedTogether } from './several-accounts.ts';

inTurnsThroughout();

const FOLD_ELSEWHERE = fileURLToPath(new URL('fold-elsewhere.ts', import.meta.url));

describe('invariant 6: replay', () => {
  it('of any history is the same, byte for byte, in another place, language and time zone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(wholeHistories, { minLength: 20, maxLength: 20 }), async (all: Commands[]) => {
        const lives = all.map((commands) => recordedLife(lived(commands).life));
        const file = join(temporaryFolder(), 'lives.json');
        writeFileSync(file, JSON.stringify(lives));
        const env = { ...process.env, TZ: 'Pacific/Kiritimati', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' };
        const { stdout } = await promisify(execFile)(process.execPath, [FOLD_ELSEWHERE, file], {
          ...{ env, maxBuffer: 64 * 1024 * 1024 },
        });
        expect(stdout.trimEnd().split('\n')).toEqual(lives.map(foldedTexts));
      }),
      { numRuns: 1, endOnFailure: true },
    );
  });
});

it('invariant 7: rebuild: views that are deleted and made anew have the same rows, those that events came to while they were live', async () => {
  await fc.assert(
    fc.asyncProperty(ledgers(3), fc.nat({ max: 100 }), async (all, percent) => {
      const appends = appendsOf(livedTogether(all));
      const log = new MemoryEventLog();
      const path = viewsFile();
      const write = (from: number, to: number): void => {
        for (const events of appends.slice(from, to)) log.write(events[0]?.stream ?? accountStream(ACCOUNT), events);
      };
      const cut = Math.ceil((appends.length * percent) / 100);
      write(0, cut);
      const first = await caughtUp(log, path);
      write(cut, appends.length);
      await passing(first.projections.whenAt(head(log)));
      await first.close();
      const before = dump(path);
      expect(before.length).toBeGreaterThan(3);
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
      await (await caughtUp(log, path)).close();
      expect(dump(path)).toEqual(before);
    }),
    { numRuns: 2, endOnFailure: true },
  );
});
