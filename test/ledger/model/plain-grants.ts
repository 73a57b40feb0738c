/** What becomes of a command: `nothing` where it is so already. */
export type Verdict = 'refused' | 'nothing' | 'done';

/** Credits in the plainest form: each micro-USD of a grant is left, spent, expired or revoked. */
export interface PlainGrant {
  readonly id: string;
  readonly amount: bigint;
  left: bigint;
  /** By debits, by what was or became owed, or taken by hand. */
  spent: bigint;
  /** Revoked when it was not there: what is spent of it cannot come back in this one. */
  lost: bigint;
  expired: bigint;
  revoked: bigint;
  readonly isPaid: boolean;
  readonly priority: number;
  readonly fromMs: number;
  /** Exclusive; infinite where it never ends. */
  untilMs: number;
}

/** What was taken: of a grant, or with null what none had, which is owed. */
export interface PlainPart {
  readonly grant: string | null;
  readonly amount: bigint;
}

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);

export const isOver = (grant: PlainGrant, atMs: number): boolean => grant.untilMs <= atMs;

export const isThere = (grant: PlainGrant, atMs: number): boolean => grant.fromMs <= atMs && !isOver(grant, atMs);

/** As they burn. */
function inOrder(grants: readonly PlainGrant[]): PlainGrant[] {
  return grants.toSorted((a, b) => {
    if (a.priority !== b.priority) return a.priority < b.priority ? -1 : 1;
    if (a.untilMs !== b.untilMs) return a.untilMs < b.untilMs ? -1 : 1;
    if (a.isPaid !== b.isPaid) return a.isPaid ? 1 : -1;
    if (a.fromMs !== b.fromMs) return a.fromMs < b.fromMs ? -1 : 1;
    return a.id < b.id ? -1 : 1;
  });
}

/** Takes as much as they have from some of the grants; returns what it took. */
function take(grants: readonly PlainGrant[], amount: bigint, isMeant: (grant: PlainGrant) => boolean): PlainPart[] {
  const parts: PlainPart[] = [];
  let missing = amount;
  for (const grant of inOrder(grants).filter(isMeant)) {
    const taken = least(grant.left, missing);
    if (taken === 0n) continue;
    grant.left -= taken;
    grant.spent += taken;
    missing -= taken;
    parts.push({ grant: grant.id, amount: taken });
  }
  return parts;
}

const sum = (parts: readonly PlainPart[]): bigint => parts.reduce((all, { amount }) => all + amount, 0n);

/** For a request, which may be of one instant: of what was there at its start, then at its end, then of whatever else came after its start. */
export function takeFor(grants: readonly PlainGrant[], amount: bigint, startMs: number, endMs: number): PlainPart[] {
  const first = take(grants, amount, (grant) => isThere(grant, startMs));
  const atEnd = (grant: PlainGrant): boolean => !isThere(grant, startMs) && isThere(grant, endMs);
  const second = take(grants, amount - sum(first), atEnd);
  const later = (grant: PlainGrant): boolean => grant.fromMs > startMs && !isThere(grant, endMs);
  const third = take(grants, amount - sum(first) - sum(second), later);
  const parts = [...first, ...second, ...third];
  return [...parts, { grant: null, amount: amount - sum(parts) }];
}

/**
 * Which grants get how much of what comes back, where so much of it is not owed any more: who has paid that at once has it
 * back; what was filled later goes in the reverse of the burn order, those that are over last; then each part its own grant's, as far as that has spent it;
 * and what that has not, the others.
 */
export function planReturn(
  grants: readonly PlainGrant[],
  {
    filled,
    payers,
    parts,
    wereRevoked,
  }: { filled: bigint; payers: readonly PlainPart[]; parts: readonly PlainPart[]; wereRevoked: boolean },
  nowMs: number,
): PlainPart[] {
  const spent = new Map(grants.map(({ id, spent: all, lost }) => [id, all > lost ? all - lost : 0n]));
  const fromSpent = (id: string, wanted: bigint): bigint => {
    const given = least(spent.get(id) ?? 0n, wanted);
    spent.set(id, (spent.get(id) ?? 0n) - given);
    return given;
  };
  let lacking = 0n;
  const own: PlainPart[] = [];
  for (const { grant, amount } of parts) {
    const given = wereRevoked ? amount : fromSpent(grant ?? '', amount);
    lacking += amount - given;
    own.push({ grant, amount: given });
  }
  let unpaid = filled;
  const paidBack: PlainPart[] = [];
  for (const { grant, amount } of payers) {
    const rest = filled - paidBack.reduce((all, part) => all + part.amount, 0n);
    paidBack.push({ grant, amount: least(amount, rest) });
  }
  for (const part of paidBack) {
    const given = fromSpent(part.grant ?? '', part.amount);
    own.push({ grant: part.grant, amount: given });
    unpaid -= given;
  }
  const backwards = inOrder(grants).toReversed();
  const places = [...backwards.filter((one) => !isOver(one, nowMs)), ...backwards.filter((one) => isOver(one, nowMs))];
  const spread = (amount: bigint): PlainPart[] => {
    const given: PlainPart[] = [];
    let left = amount;
    for (const { id } of places) {
      const part = fromSpent(id, left);
      left -= part;
      given.push({ grant: id, amount: part });
    }
    return given;
  };
  return [...spread(unpaid), ...own, ...spread(lacking)].filter(({ amount }) => amount > 0n);
}
