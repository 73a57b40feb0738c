import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runHere, runHereWith } from '../fixtures/processes/run-here.ts';
import { runProgram } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { doctor, FAULTS } from './doctored.ts';

const SECRET = 'hunter2-hunter2';
const UNUSABLE = `kurrentdb://proxy:${SECRET}@host:2113`;
const WHY =
  'cannot be used: it begins with neither esdb:// nor esdb+discover://; expected esdb://user:password@host:2113';

function configured(place: object): string {
  const data = temporaryFolder();
  const config = join(data, 'gateway.json');
  const kafka = { brokers: ['127.0.0.1:1'], topic: 'ledger' };
  const eventLog = { kind: 'eventstoredb', ...place };
  writeFileSync(config, JSON.stringify({ data, eventLog, kafka, logLevel: 'silent', listen: { port: 0 } }));
  return config;
}

describe('a connection string that can never be used is a fault of the configuration', () => {
  it.each([
    ['account list'],
    ['account open --email ada@example.com'],
    ['account show acct_ada'],
    ['catalog show'],
    ['ledger verify --all'],
    ['ledger copy --to /tmp/ledger.db'],
    ['projections status'],
    ['relay'],
    ['serve'],
  ])('for %s', async (command) => {
    const config = configured({ connectionString: UNUSABLE });
    const { exitCode, stdout, stderr } = await runHere('--config', config, ...command.split(' '));
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(`gateway: ${config}:\n  eventLog.connectionString: it ${WHY}`);
    expect(stderr).not.toContain(SECRET);
  });

  it('that names the variable or the file that has it', async () => {
    const file = join(temporaryFolder(), 'event-log');
    writeFileSync(file, UNUSABLE);
    const inVariable = configured({ connectionStringEnv: 'LOG_URL' });
    const run = await runHereWith({ environment: { LOG_URL: UNUSABLE } }, '--config', inVariable, 'account', 'list');
    const ofVariable = 'eventLog.connectionStringEnv: the connection string in the environment variable LOG_URL';
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`\n  ${ofVariable} ${WHY}`) });
    const ofFile = `eventLog.connectionStringFile: the connection string in ${file}`;
    const inFile = await runHere('--config', configured({ connectionStringFile: file }), 'account', 'list');
    expect(inFile).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`\n  ${ofFile} ${WHY}`) });
    expect(run.stderr + inFile.stderr).not.toContain(SECRET);
  });

  it('told once where there is none, and beside the other faults', async () => {
    const config = configured({ connectionStringEnv: 'LOG_URL', connectionString: UNUSABLE });
    const { stderr } = await runHereWith({ environment: {} }, '--config', config, 'account', 'list');
    expect(stderr.match(/eventLog.*/g)).toEqual([
      'eventLog: needs one of connectionString, connectionStringEnv and connectionStringFile',
    ]);
    const none = await runHereWith(
      { environment: { LOG_URL: '' } },
      ...['--config', configured({ connectionStringEnv: 'LOG_URL' }), 'account', 'list'],
    );
    expect(none.stderr.match(/eventLog.*/g)).toEqual([
      'eventLog.connectionStringEnv: the environment variable LOG_URL is not set',
    ]);
  });

  it('also where a file that it names is not there', async () => {
    const config = configured({ connectionString: `esdb://proxy:${SECRET}@host?tlsCAFile=/no/such.pem` });
    const { exitCode, stderr } = await runHere('--config', config, 'account', 'list');
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('tlsCAFile: /no/such.pem does not exist')]);
    expect(stderr).not.toContain(SECRET);
  });

  it('as the doctor tells it, in a line with what to do', async () => {
    const { exitCode, of, findings } = await doctor(configured({ connectionString: UNUSABLE }));
    expect(exitCode).toBe(FAULTS);
    expect(of('configuration')).toMatchObject({
      ...{ state: 'fault', advice: expect.stringContaining('mend it') },
      says: expect.stringContaining(`eventLog.connectionString: it ${WHY}`),
    });
    expect(JSON.stringify(findings)).not.toContain(SECRET);
  });

  it('for the program itself', async () => {
    const { exitCode, stderr } = await runProgram('serve', '--config', configured({ connectionString: UNUSABLE }));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(WHY)]);
    expect(stderr).not.toContain(SECRET);
  });

  it('while a server that cannot be reached is none', async () => {
    const config = configured({ connectionString: `esdb://proxy:${SECRET}@127.0.0.1:1?tls=false` });
    const { exitCode, stderr } = await runHere('--config', config, 'account', 'list');
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining('EventStoreDB: No connection established')]);
    expect(stderr).not.toContain(SECRET);
  });
});

it.each([
  [UNUSABLE, '--to: the connection string'],
  ['env:LOG_URL', '--to env:LOG_URL: the connection string'],
])('is one of the arguments of ledger copy, too: --to %s', async (to, where) => {
  const data = temporaryFolder();
  await runHere('--data', data, 'account', 'open', '--email', 'ada@example.com');
  const copy = ['--data', data, 'ledger', 'copy', '--to', to];
  const { exitCode, stderr } = await runHereWith({ environment: { LOG_URL: UNUSABLE } }, ...copy);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`gateway: ${where} ${WHY}`)]);
  expect(stderr).not.toContain(SECRET);
});
