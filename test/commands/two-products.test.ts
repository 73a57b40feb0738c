import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AccountId, accountId, grantId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import { identifyLedger } from '../../ledger/identity/identify-ledger.ts';
import { recordingBy } from '../../ledger/recording-by.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { asking, get, post, refusalOf } from '../fixtures/gateway/call.ts';
import { PATIENT_LEASES } from '../fixtures/gateway/requests-at-once.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';
import { MemoryEventLog } from '../fixtures/ledger/memory-event-log.ts';
import { type ProgramInProcess, programInProcess } from '../fixtures/processes/program-in-process.ts';

const EMAIL = 'ada@example.com';
const MONTH = new Date().toISOString().slice(0, 7);

/** One of the two accounts, with the gateway of its product. */
interface Owned {
  readonly product: string;
  readonly id: AccountId;
  readonly gateway: TestGateway;
  readonly key: string;
  readonly keyId: string;
  /** What was granted, and what has been debited. */
  readonly granted: bigint;
  readonly debited: bigint;
  readonly requests: readonly string[];
}

/** Somebody with an account of each of two products of one ledger: so much credit, and so many requests. */
async function scene() {
  const log = new MemoryEventLog();
  const program = endedLater(await programInProcess(log), afterAll);
  await identifyLedger(log, Date.now(), recordingBy('gateway', Date.now()));
  const owned = async (product: string, granted: bigint, calls: number): Promise<Owned> => {
    const settings = { proxies: 'many', leases: PATIENT_LEASES, product };
    const gateway = endedLater(await startTestGateway({ log, settings }), afterAll);
    const id = accountId(`acct_${product}`);
    const nowMs = Date.now();
    const trial = { trial: microUsd(0n), trialGrantId: grantId('grant_trial'), nowMs };
    await gateway.command(
      { type: 'OpenAccount', accountId: id, kind: 'organization', email: EMAIL, product, ...trial },
      id,
    );
    const bought = { grantId: grantId(`grant_of_${product}`), source: 'purchase', amount: microUsd(granted) } as const;
    const terms = { costBasis: microUsd(granted), priority: 100, effectiveAtMs: nowMs, expiresAtMs: null };
    await gateway.command({ type: 'GrantCredits', ...bought, ...terms }, id);
    const { key, keyId } = await gateway.issueKey({}, id);
    const requests: string[] = [];
    for (let call = 0; call < calls; call++) {
      const answered = await post({ url: gateway.url, key }, '/v1/messages', asking('opal-medium'));
      expect(answered.status).toBe(200);
      requests.push(String(answered.headers['request-id']));
    }
    const debits = (await gateway.events(id)).filter(({ type }) => type === 'CreditsDebited');
    expect(debits.length).toBe(calls);
    const debited = debits.reduce((sum, { data }) => sum + ('amount' in data ? (data.amount as bigint) : 0n), 0n);
    return { product, id, gateway, key, keyId, granted, debited, requests };
  };
  const of: readonly [Owned, Owned] = [await owned('gateway', 3_000_000n, 1), await owned('images', 5_000_000n, 2)];
  return { program, of, pairs: [of, [of[1], of[0]]] as readonly (readonly [Owned, Owned])[] };
}

let program: ProgramInProcess;
let of: readonly [Owned, Owned];
let pairs: readonly (readonly [own: Owned, other: Owned])[];

beforeAll(async () => {
  ({ program, of, pairs } = await scene());
});

/** By the configuration of a product, as its operators do. */
function run(product: string, ...words: readonly string[]): Promise<string> {
  const eventLog = { kind: 'eventstoredb', connectionString: 'esdb://127.0.0.1:1' };
  writeFileSync(program.file, JSON.stringify({ data: dirname(program.file), eventLog, product }));
  return program.run(...words);
}

it('somebody with accounts of two products sees, is billed and is refused by each as though the other were not there', async () => {
  for (const [own, other] of pairs) {
    const { gateway, key, granted, debited, id } = own;
    const left = granted - debited;
    const { status, body } = await get({ url: gateway.url, key }, '/me');
    expect([status, body]).toMatchObject([
      200,
      {
        ...{ email: EMAIL, account: { id }, available_credits: Number(left), key: { id: own.keyId } },
        month: { account: { spent: Number(debited) }, key: { spent: Number(debited) } },
      },
    ]);
    // A key is of nobody at the other product's gateway.
    refusalOf(await get({ url: other.gateway.url, key }, '/me'), 401);

    const statement = JSON.parse(
      await run(own.product, 'account', 'statement', id, '--month', MONTH, '--format', 'json'),
    );
    expect(statement).toMatchObject({
      ...{ accountId: id, product: own.product, closing: String(left) },
      sums: { granted: String(granted), debited: String(debited) },
    });
    const said: string[] = [];
    for (const format of ['table', 'json', 'csv', 'html'])
      said.push(await run(own.product, 'account', 'statement', id, '--month', MONTH, '--format', format));
    for (const words of OF_ONE) said.push(await run(own.product, ...words, id));
    for (const request of own.requests) said.push(await run(own.product, 'ledger', 'explain', request));
    for (const text of said) expect(text).not.toMatch(ofAccount(other));
  }
  expect(of[0].debited).not.toBe(of[1].debited);
});

const PAGE = ['--format', 'html'];

/** Whatever names an account and shows something of it. */
const OF_ONE: readonly (readonly string[])[] = [
  ['account', 'show'],
  ['account', 'usage', '--month', MONTH],
  ['key', 'list'],
  ['member', 'list'],
  ['payment', 'list'],
  ['exception', 'list'],
  ['ledger', 'replay'],
  ['ledger', 'events'],
  ['ledger', 'verify'],
  ['ledger', 'export', '--format', 'csv', '--account'],
];

/** All that could give it away. */
const ofAccount = ({ id, keyId, requests, product }: Owned): RegExp =>
  new RegExp([id, keyId, `grant_of_${product}`, ...requests].join('|'));

it('gateway ledger report has the sums of each product, and of one alone what is of its accounts', async () => {
  const report = async (...more: readonly string[]) =>
    JSON.parse(await run('gateway', '--json', 'ledger', 'report', '--month', MONTH, ...more));
  const whole = await report();
  expect(whole.products).toEqual(
    of.map(({ product, granted, debited }) => ({
      ...{ product, accounts: 1, granted: String(granted), spent: String(debited) },
      ...{ expired: '0', balance: String(granted - debited) },
    })),
  );
  expect(await run('gateway', 'ledger', 'report', '--month', MONTH)).toMatch(
    /product .*closing.*\n(?:.*\n)?.*gateway +.*\n.*images /,
  );
  for (const [at, own] of of.entries()) {
    const one = await report('--product', own.product);
    expect(one).toMatchObject({
      product: own.product,
      products: [whole.products[at]],
      closing: whole.products[at].balance,
    });
    expect(one.accounts.map(({ id }: Owned) => id)).toEqual([own.id]);
    expect(one.models).toMatchObject([
      { model: 'opal-medium', requests: own.requests.length, spent: String(own.debited) },
    ]);
    const page = await run('gateway', 'ledger', 'report', '--month', MONTH, ...PAGE, '--product', own.product);
    expect(page).toContain(`Books of ${MONTH}, ${own.product}`);
    expect(page).not.toMatch(ofAccount(of[1 - at] as Owned));
    expect(page).toContain('All totals of this page agree.');
  }
  await expect(report('--product', 'chat')).rejects.toMatchObject({
    ...{ exitCode: 3, message: '--product: the ledger has no accounts of "chat"; it has those of gateway, images' },
  });
});
