import type { KeyId } from '../contracts/ids.ts';

/**
 * What the members of one account hold in one month, kept beside what each hold changes. Whose a key is is asked once, as it stays
 * its member's; a key that nobody knows, as after a restart before its account is read, is asked for again each time.
 */
export class HeldByMembers {
  readonly #memberOf = new Map<KeyId, string>();
  readonly #sums = new Map<string, bigint>();
  readonly #unknown = new Map<KeyId, bigint>();

  change(keyId: KeyId, difference: bigint): void {
    const member = this.#memberOf.get(keyId);
    if (member === undefined) add(this.#unknown, keyId, difference);
    else add(this.#sums, member, difference);
  }

  /** @param memberOf whose a key is; null is not known */
  of(member: string, memberOf: (keyId: KeyId) => string | null): bigint {
    for (const [keyId, amount] of this.#unknown) {
      const whose = memberOf(keyId);
      if (whose === null) continue;
      this.#unknown.delete(keyId);
      this.#memberOf.set(keyId, whose);
      add(this.#sums, whose, amount);
    }
    return this.#sums.get(member) ?? 0n;
  }
}

function add<K>(sums: Map<K, bigint>, name: K, difference: bigint): void {
  const sum = (sums.get(name) ?? 0n) + difference;
  if (sum === 0n) sums.delete(name);
  else sums.set(name, sum);
}
