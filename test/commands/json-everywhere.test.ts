import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openSqliteEventLog } from '../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { gatewayProgram } from '../../proxy/program/gateway-program.ts';
import { startFakeEventStore } from '../eventstoredb/fake-event-store.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, post } from '../fixtures/gateway/call.ts';
import { startTestGateway } from '../fixtures/gateway/start-gateway.ts';
import { untilSealed } from '../fixtures/ledger/until-sealed.ts';
import { killStarted, startProcess } from '../fixtures/processes/child-process.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';
import { runHere } from '../fixtures/processes/run-here.ts';
import { PROGRAM, type ProgramRun } from '../fixtures/processes/run-program.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { json } from '../upstream/answer.ts';
import { message } from '../upstream/message.ts';
import { startUpstream } from '../upstream/upstream.ts';

const EXAMPLE = new URL('../../contracts/example-catalog.yaml', import.meta.url).pathname;
const MONTH = new Date().toISOString().slice(0, 7);

/**
 * A line for each command, one after another on one ledger: later ones have what earlier ones have made. What begins with a brace
 * is a value of the ledger; what stands behind `:` why the command is refused, all the same with `--json`.
 */
const LINES = `
  ledger forms --adopt
  account open --email eve@example.com --kind organization --id acct_org
  account show acct_test
  account list
  account usage acct_test
  account statement acct_test --month ${MONTH}
  account suspend acct_org --reason why
  account reinstate acct_org --reason why
  credits grant acct_test --usd 1 --id g1
  credits revoke acct_test --grant g1 --id r1 --reason why
  credits restore acct_test --revocation r1 --reason why
  credits reinstate acct_test --grant g1 --reason why : nothing of grant g1 has expired
  credits purchase acct_test --usd 20 --id p1
  payment list
  payment ask acct_test p1
  payment confirm acct_test p1 --payment T
  payment refund acct_test T --usd 5 --id f1 --reason why
  payment withdraw-refund acct_test T --id f1 --reason why
  payment dispute acct_test T --usd 5 --id d1 --reason why
  payment close-dispute acct_test T --id d1 --outcome won --reason why
  credits purchase acct_test --usd 5 --id p2
  payment decline acct_test p2 --reason why
  payment save-method acct_test --id m1 --brand visa --last4 4242
  credits auto-reload acct_test --threshold-usd 5 --target-usd 20 --monthly-cap-usd 100 --consent
  payment remove-method acct_test
  debit reverse {debited} --reason why
  balance adjust acct_test --up 1 --id a1 --reason why
  key issue acct_test
  key issue acct_test --key-only
  key rotate acct_test {key}
  key revoke acct_test {key}
  key list acct_test
  member add acct_org bob@example.com
  member role acct_org bob@example.com admin
  member list acct_org
  member remove acct_org bob@example.com
  exception list
  exception approve {beyond} --reason why
  exception drop {further} --reason why
  limit set acct_test --usd 100
  catalog diff {catalog}
  catalog publish {catalog}
  catalog show
  catalog history
  account plan acct_test team --reason why
  plan list
  ledger events acct_test
  ledger replay acct_test
  ledger replay acct_test --at 3
  ledger reconcile {usage} --provider test
  ledger report --month ${MONTH}
  ledger explain {debited}
  ledger export --format ndjson
  ledger export --format hledger --out {folder}/books
  ledger verify --all
  ledger verify --seals
  ledger prove {event}
  ledger keys
  ledger check-proof {proof} --keys {keys}
  ledger keys rotate
  ledger seal-digest
  ledger backup {folder}/backup
  ledger restore {folder}/backup --data {folder}/restored
  ledger accept-loss --reason why : nothing is lost
  ledger copy --to {store} --copy-only
  projections status
  projections diff --all
  projections rebuild --all
  projections rollback
  projections park acct_org --reason why
  projections unpark acct_org
  doctor
  completion bash : a script for bash, too
`;

/** In words of the answer's own, which `--json` does not pass over. */
const OF_ANOTHER_FORM = [
  ...['csv', 'hledger', 'beancount', 'focus'].map((format) => `ledger export --format ${format}`),
  ...['csv', 'html', 'table'].map((format) => `account statement acct_test --month ${MONTH} --format ${format}`),
  ...['html', 'table'].map((format) => `ledger report --month ${MONTH} --format ${format}`),
  `ledger report --month ${MONTH} --out -`,
  ...['bash', 'zsh', 'fish'].map((shell) => `completion ${shell}`),
];

/** What commands ask for, by its name in the lines. */
const values = new Map<string, string>();
let config = '';

beforeAll(async () => {
  const upstream = endedLater(await startUpstream(), afterAll);
  const settings = { seals: { events: 1 }, kafka: { brokers: ['127.0.0.1:1'], topic: 'ledger', partitions: 1 } };
  const gateway = await startTestGateway({ upstreamUrl: upstream.url, settings });
  const [usual, far] = [message(), message({ tokens: { input: 1, output: 1e12 } })];
  for (const answer of [usual, far, far]) {
    upstream.answerWith(json(answer));
    expect((await post(gateway, '/v1/messages', asking('opal-medium'))).status).toBe(200);
  }
  const used = (await gateway.events()).flatMap(({ type, data }) => (type === 'UsageRecorded' ? [data.requestId] : []));
  await untilSealed(gateway.log, 1);
  await gateway.stop();
  config = join(gateway.data, 'gateway.json');
  const folder = temporaryFolder();
  const store = endedLater(await startFakeEventStore(), afterAll);
  const catalog = join(folder, 'catalog.json');
  const models = (JSON.parse(readFileSync(join(gateway.data, 'catalog.json'), 'utf8')) as { models: unknown[] }).models;
  const plans = (parse(readFileSync(EXAMPLE, 'utf8')) as { plans: { models?: unknown }[] }).plans;
  writeFileSync(catalog, JSON.stringify({ models, plans: plans.map(({ models: _, ...plan }) => plan) }));
  const log = await openSqliteEventLog({ path: join(gateway.data, 'ledger.db') });
  const [first] = await Array.fromAsync(log.readAll({ limit: 1 }));
  await log.close();
  const given = {
    ...{ folder, catalog, store: store.connectionString, event: first?.id ?? '' },
    ...{ debited: used[0] ?? '', beyond: used[1] ?? '', further: used[2] ?? '' },
    usage: join(import.meta.dirname, 'provider-usage.csv'),
  };
  for (const [name, value] of Object.entries(given)) values.set(name, value);
});
afterAll(killStarted);

const filled = (line: string): string[] =>
  line
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/\{(\w+)\}/, (_all, name: string) => values.get(name) ?? expect.fail(`no ${name}`)));

/** With what the configuration says but where a line says something else. */
const run = (line: string): Promise<ProgramRun> => runHere('--config', config, '--json', ...filled(line));

/** One JSON value, or one a line. @throws SyntaxError */
function valuesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  }
}

/** Null where it has answered in JSON. */
function amissWith({ exitCode, stdout, stderr }: ProgramRun): string | null {
  // What looks at the machine may find something amiss with it.
  if (exitCode !== 0 && exitCode !== 5) return `it ended with ${exitCode}: ${stderr}`;
  try {
    return valuesIn(stdout).length > 0 ? null : 'nothing';
  } catch (error) {
    return `${String(error)}: ${stdout.slice(0, 200)}`;
  }
}

const notRefused = ({ exitCode, stdout, stderr }: ProgramRun, reason: string): string | null =>
  exitCode > 1 && stdout === '' && stderr.includes(reason) ? null : `it ended with ${exitCode}: ${stdout}${stderr}`;

/** What later lines name. */
function keep(line: string, { stdout }: ProgramRun): void {
  const file = (name: string): void => {
    const path = join(values.get('folder') ?? '', name);
    writeFileSync(path, stdout);
    values.set(name, path);
  };
  if (line === 'key issue acct_test') values.set('key', JSON.parse(stdout).keyId);
  if (line.startsWith('ledger prove ')) file('proof');
  if (line === 'ledger keys') file('keys');
}

const commandsOf = (command: Command, words = ''): string[] =>
  command.commands.flatMap((one) => {
    const line = `${words} ${one.name()}`.trim();
    return one.commands.length === 0 ? [line] : commandsOf(one, line);
  });

describe('--json', () => {
  const lines = LINES.trim()
    .split('\n')
    .map((line) => line.trim());

  it('is tried with each command that there is', async () => {
    const { context } = endedLater(await programInProcess());
    const all = commandsOf(await gatewayProgram(context));
    const untried = all.filter((command) => !lines.some((line) => `${line} `.startsWith(`${command} `)));
    // They go on until they are stopped.
    expect([all.length > 60, untried]).toEqual([true, ['serve', 'relay fill']]);
  });

  it('has each command answer in JSON, or say why it does not', async () => {
    const amiss: string[] = [];
    for (const line of lines) {
      const [asked = '', reason] = line.split(' : ');
      const done = await run(asked);
      const why = reason === undefined ? amissWith(done) : notRefused(done, reason);
      if (why !== null) amiss.push(`${asked}: ${why}`);
      else if (reason === undefined) keep(asked, done);
    }
    expect(amiss).toEqual([]);
  });

  it.each(OF_ANOTHER_FORM)('is refused where an answer is asked for in another form, too: %s', async (line) => {
    expect(await run(line)).toMatchObject({
      ...{ exitCode: 2, stdout: '', stderr: expect.stringMatching(/--json: the answer is asked for as .*, too/) },
    });
  });

  it('has what goes on until it is stopped say in JSON what it does', async () => {
    const stderr = join(temporaryFolder(), 'stderr');
    const started = (...command: readonly string[]) =>
      startProcess([PROGRAM, '--json', ...command, '--config', config], {
        stderrFd: openSync(stderr, 'a'),
        environment: { TEST_UPSTREAM_KEY: 'upstream-secret-key' },
      });
    const gateway = started('serve');
    expect(await gateway.firstLine).toMatchObject({ url: expect.any(String) });
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toBe(0);
    for (const command of [['relay'], ['relay', 'fill', 'other']]) {
      writeFileSync(stderr, '');
      const relay = started(...command);
      const said = (): string => readFileSync(stderr, 'utf8');
      await expect.poll(said).toMatch(/Kafka.*\n/);
      // Behind it stands, in words, how it ended.
      expect(() => valuesIn(said())).not.toThrow();
      relay.child.kill('SIGTERM');
      await relay.ended;
    }
  });
});
