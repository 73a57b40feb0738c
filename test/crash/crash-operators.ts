import type { SeededRandom } from '../fixtures/seeded-random.ts';
import { CAPPED_ACCOUNT, THIN_ACCOUNT } from './crash-accounts.ts';
import type { CrashSite } from './crash-site.ts';
import { type LimitSet, moveLimit, onlyEndedAlready } from './move-limit.ts';

const DEEDS = [
  ['grant', 3],
  ['ending grant', 3],
  ['limit', 5],
] as const;
/** From when the operator types it: a command takes its time. */
const ENDS_MS = [4_000, 15_000] as const;

/** Operators' work beside a gateway that is up, or is killed meanwhile: through the gateway's own commands. */
export class CrashOperators {
  readonly limits: LimitSet[] = [];
  grants = 0;
  readonly #site: CrashSite;
  readonly #random: SeededRandom;

  constructor(site: CrashSite, random: SeededRandom) {
    this.#site = site;
    this.#random = random;
  }

  /** Does one thing. @throws Error when its command fails for another reason than a log that is away. */
  async work(): Promise<void> {
    const random = this.#random.fork();
    const deed = random.weighted(DEEDS);
    if (deed === 'grant') await this.#grant(random, []);
    if (deed === 'ending grant') {
      const ends = new Date(Date.now() + random.whole(...ENDS_MS)).toISOString();
      await this.#grant(random, ['--expires', ends]).catch(onlyEndedAlready);
    }
    if (deed === 'limit') {
      const { command } = this.#site;
      this.limits.push(await moveLimit(command, CAPPED_ACCOUNT, random));
    }
  }

  async #grant(random: SeededRandom, more: readonly string[]): Promise<void> {
    const usd = (random.whole(2, 40) / 100).toFixed(2);
    const how = ['--usd', usd, '--source', 'promotion', '--priority', String(random.whole(1, 200)), ...more];
    await this.#site.command('credits', 'grant', THIN_ACCOUNT, ...how);
    this.grants++;
  }
}
