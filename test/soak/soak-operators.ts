import { setTimeout as delay } from 'node:timers/promises';
import type { CrashClients } from '../crash/crash-clients.ts';
import { type LimitSet, moveLimit, onlyEndedAlready } from '../crash/move-limit.ts';
import type { ClientKey } from '../crash/post-planned.ts';
import { tryWhileAway } from '../crash/try-while-away.ts';
import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { MOVED_ACCOUNT, SOAK_ACCOUNTS, type SoakAccount } from './soak-accounts.ts';

type Command = (...args: readonly string[]) => Promise<string>;

const REFILL_MS = 500;
const PAUSE_MS = [400, 2_500] as const;
/** What operators do, and how often of all that they do. */
const DEEDS = [
  ['grant', 6],
  ['limit', 3],
  ['revoke', 1],
  ['look', 2],
] as const;
/** Of a grant that ends while requests are under way, from when it is typed. */
const ENDS_MS = [4_000, 20_000] as const;
/** How long clients go on with a key that was revoked: by then every proxy refuses it. */
const USED_AFTER_REVOCATION_MS = 3_000;

/** Operators' work beside the traffic: accounts, keys, credits, revocations; through the gateway's own commands. */
export class SoakOperators {
  readonly revoked: { readonly key: ClientKey; readonly atMs: number }[] = [];
  /** When a key was issued, by its id. */
  readonly issuedMs = new Map<string, number>();
  grants = 0;
  /** Commands that were told to try again because the log was away. */
  triedAgain = 0;
  readonly limits: LimitSet[] = [];
  readonly #command: Command;

  constructor(command: Command) {
    this.#command = command;
  }

  async openAccounts(): Promise<void> {
    for (const account of SOAK_ACCOUNTS) await this.#open(account);
  }

  async issueKey(accountId: string): Promise<ClientKey> {
    const limit = SOAK_ACCOUNTS.find(({ id }) => id === accountId)?.keyLimitUsd ?? null;
    const limited = limit === null ? [] : ['--monthly-limit-usd', limit];
    const key = JSON.parse(await this.#run('key', 'issue', accountId, ...limited)) as ClientKey;
    this.issuedMs.set(key.keyId, Date.now());
    return key;
  }

  /** Issues keys as clients use them up, until the signal. */
  async issueKeys(clients: CrashClients, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clients.refillKeys((accountId) => this.issueKey(accountId));
      await delay(REFILL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Works until the signal. @throws Error when a command fails for another reason than a log that is away. */
  async work(random: SeededRandom, clients: CrashClients, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const deed = random.weighted(DEEDS);
      if (deed === 'grant') await this.#grant(random);
      if (deed === 'limit') this.limits.push(await moveLimit((...args) => this.#run(...args), MOVED_ACCOUNT, random));
      if (deed === 'look') await this.#run('account', 'show', random.weighted(SOAK_ACCOUNTS.map(({ id }) => [id, 1])));
      if (deed === 'revoke') await this.#revoke(random, clients);
      await delay(random.whole(...PAUSE_MS), undefined, { signal }).catch(() => undefined);
    }
  }

  async #open({ id, creditUsd, monthlyLimitUsd }: SoakAccount): Promise<void> {
    await this.#run('account', 'open', '--email', 'soak@example.com', '--id', id, '--trial-usd', creditUsd);
    if (monthlyLimitUsd !== null) await this.#run('limit', 'set', id, '--usd', monthlyLimitUsd);
  }

  async #grant(random: SeededRandom): Promise<void> {
    const topped = SOAK_ACCOUNTS.filter(({ isTopped }) => isTopped);
    const id = random.weighted(topped.map((account) => [account.id, 1] as const));
    const cents = random.whole(2, 20);
    const ends = new Date(Date.now() + random.whole(...ENDS_MS)).toISOString();
    const ending = random.chance(0.3) ? ['--expires', ends] : [];
    const done = this.#run(
      'credits',
      'grant',
      id,
      '--usd',
      (cents / 100).toFixed(2),
      '--priority',
      String(random.whole(1, 200)),
      ...ending,
    );
    await done.catch(onlyEndedAlready);
    this.grants++;
  }

  /** A key that clients are using at this moment; they go on with it for a while, and then with another. */
  async #revoke(random: SeededRandom, clients: CrashClients): Promise<void> {
    const slots = random.weighted(clients.slots.map((one) => [one, 1] as const));
    const key = slots.current;
    if (key === null) return;
    slots.addKey(await this.issueKey(slots.accountId));
    await this.#run('key', 'revoke', slots.accountId, key.keyId);
    this.revoked.push({ key, atMs: Date.now() });
    await delay(USED_AFTER_REVOCATION_MS);
    if (slots.current === key) slots.skipKey();
  }

  #run(...args: readonly string[]): Promise<string> {
    return tryWhileAway(
      () => this.#command(...args),
      () => this.triedAgain++,
    );
  }
}
