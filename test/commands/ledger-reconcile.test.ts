import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { accountId, accountStream, commandId, reconciliationStream } from '../../contracts/ids.ts';
import { NO_TOKENS } from '../../contracts/usage.ts';
import { recordUsage } from '../../ledger/account/record-usage.ts';
import { COLUMNS } from '../../ledger/reconcile/report-columns.ts';
import { EXIT } from '../../proxy/program/command-context.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { fold } from '../fixtures/ledger/decider-specification.ts';
import { CARD, granted, opened, usageOf } from '../fixtures/ledger/example-account.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const DAY = '2026-11-05';

async function usedProgram() {
  const log = new MemoryEventLog();
  const first = [opened, granted('g', 1_000_000)];
  const state = fold(first);
  if (state.type !== 'open') throw new Error('not open');
  const usage = usageOf(1, 0, {
    upstream: { provider: 'example', model: 'opal', requestId: 'r1' },
    tokens: { ...NO_TOKENS, input: 1_000, output: 200 },
    ...{ startedAt: `${DAY}T12:00:00.000Z`, finishedAt: `${DAY}T12:00:01.000Z` },
  });
  log.write(
    accountStream(accountId('acme')),
    encodeEvents([...first, ...recordUsage(state, usage, CARD)], {
      commandId: commandId('019a5b3c-1111-7000-8000-000000000000'),
      ...{ actor: 'operator', recordedAt: '2026-11-05T10:00:00.000Z' },
    }),
  );
  return { log, program: endedLater(await programInProcess(log)) };
}

function reportOf(text: string): string {
  const file = join(temporaryFolder(), 'usage.csv');
  writeFileSync(file, text);
  return file;
}

const stored = async (log: MemoryEventLog) => {
  const events = [];
  for await (const { type, data } of log.readStream(reconciliationStream('example')))
    events.push({ type, ...JSON.parse(data) });
  return events;
};

const REPORT = `date,model,service_tier,input_tokens,output_tokens,cost_usd\n${DAY},opal,standard,1010,200,0.0002\n`;

it('shows a provider’s report beside ours, and records what that shows, the same only once', async () => {
  const { log, program } = await usedProgram();
  const file = reportOf(REPORT);
  const said = await program.run('ledger', 'reconcile', file, '--provider', 'example');
  expect(said).toMatch(/matched\s+1\nmismatch\s+1\n/);
  expect(said).toMatch(/opal +standard +input +1,000 +1,010 +\+10 +\+1\.0000% +0\.000000/);
  expect(said).toMatch(/opal +standard +all +1,200 +1,210 +\+10 +\+0\.8333% +0\.000200 +0\.000200 +-0\.0099%/);
  expect(said).toMatch(/mismatch +2026-11-05 +opal +standard +input: 1,000 \/ 1,010/);
  expect(said).toMatch(/recorded\s+in the ledger, now/);
  expect(await program.json('ledger', 'reconcile', file, '--provider', 'example')).toMatchObject({
    ...{ recorded: 'before', counts: { matched: 1, mismatched: 1 } },
  });
  expect(await stored(log)).toMatchObject([{ type: 'ProviderReconciled', provider: 'example', report: { rows: 1 } }]);
  await program.run('ledger', 'reconcile', file, '--provider', 'example', '--from', DAY, '--to', '2026-11-07');
  expect(await stored(log)).toHaveLength(2);
});

it('finds room on a terminal', async () => {
  const { program } = await usedProgram();
  Object.assign(program.context, { columns: 80 });
  const said = await program.run('ledger', 'reconcile', reportOf(REPORT), '--provider', 'example', '--no-record');
  expect(said.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(said).toMatch(/our tokens +1,000$/m);
});

it('writes nothing where it shall only show', async () => {
  const { log, program } = await usedProgram();
  const shown = await program.json('ledger', 'reconcile', reportOf(REPORT), '--provider', 'example', '--no-record');
  expect(shown).toMatchObject({ recorded: 'no', counts: { mismatched: 1 } });
  expect(await stored(log)).toEqual([]);
});

it('says of a report that cannot be compared what is amiss, and of a file that is not there that', async () => {
  const { log, program } = await usedProgram();
  const run = (file: string) => program.run('ledger', 'reconcile', file, '--provider', 'example');
  const unknown = reportOf(`date,model,colour\n${DAY},opal,red\n`);
  await expect(run(unknown)).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: expect.stringContaining(`${unknown}: it has columns that are not known: "colour"`),
  });
  const none = join(temporaryFolder(), 'none.csv');
  await expect(run(none)).rejects.toMatchObject({ exitCode: EXIT.usage, message: `${none}: does not exist` });
  const folder = temporaryFolder();
  await expect(run(folder)).rejects.toMatchObject({ exitCode: EXIT.usage, message: `${folder}: is a folder` });
  await expect(program.run('ledger', 'reconcile', reportOf(REPORT), '--provider', 'exmaple')).rejects.toMatchObject({
    exitCode: EXIT.usage,
    message: expect.stringMatching(/no provider exmaple .*known are example, mock$/),
  });
  expect(await stored(log)).toEqual([]);
});

it('on an event store records in a stream of the ledger’s own, which the books of the month then have', async () => {
  const store = endedLater(await startFakeEventStore());
  const folder = temporaryFolder();
  const file = join(folder, 'gateway.json');
  const eventLog = { kind: 'eventstoredb', connectionString: store.connectionString, streamPrefix: 'a-' };
  const providers = { example: { protocol: 'messages', baseUrl: 'http://127.0.0.1:1', apiKeyEnv: 'EXAMPLE_KEY' } };
  writeFileSync(file, JSON.stringify({ data: join(folder, 'data'), logLevel: 'silent', eventLog, providers }));
  const run = (...args: string[]) => runHere('--config', file, '--json', ...args);
  await run('account', 'open', '--email', 'ada@example.com');
  const reconciled = await run('ledger', 'reconcile', reportOf(REPORT), '--provider', 'example');
  expect(JSON.parse(reconciled.stdout)).toMatchObject({ recorded: 'now', counts: { theirsOnly: 2 } });
  const recorded = store.events().find(({ stream }) => stream === 'a-reconciliation-example');
  const month = JSON.parse(Buffer.from(recorded?.metadata ?? []).toString()).recordedAt.slice(0, 7);
  const { exitCode, stdout } = await run('ledger', 'report', '--month', month);
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    closing: '5000000',
    reconciled: [{ provider: 'example' }],
  });
});

it('its help has the columns that a report may have, and says where their other names stand', async () => {
  const { stdout } = await runHere('ledger', 'reconcile', '--help');
  const said = stdout.replaceAll(/\s+/g, ' ');
  const names = Object.values(COLUMNS).map(([name]) => name);
  expect(said).toContain(`Columns that a report may have: ${names.join(', ')}.`);
  expect(said).toContain('ledger/reconcile/README.md');
});
