import type { AccountCommand } from '../../../ledger/account/commands.ts';
import type { Verdict } from './plain-grants.ts';
import type { PlainLimits } from './plain-limits.ts';

type Of<T extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: T }>;

interface PlainMember {
  /** As it was first written. */
  readonly email: string;
  readonly sinceMs: number;
  role: string;
}

interface PlainKey {
  readonly member: string;
  readonly untilMs: number;
  readonly models: readonly string[] | null;
  secret: string;
  /** The secret before, and until when it is one. */
  before: string | null;
  beforeMs: number;
  /** Revoked. */
  overMs: number | null;
}

const DAY_MS = 86_400_000;
const USUAL = [50, 80, 100];

/** Whose an account is, and its keys. */
export class PlainPeople {
  readonly #members: Record<string, PlainMember> = {};
  readonly #keys: Record<string, PlainKey> = {};
  readonly #limits: PlainLimits;
  #first = '';
  #isPersonal = false;

  /** @param limits what they may spend */
  constructor(limits: PlainLimits) {
    this.#limits = limits;
  }

  /** By e-mail. */
  get members(): Record<string, string> {
    const lines = Object.entries(this.#members).map(([name, { email, role, sinceMs }]) => [
      name,
      `${email} ${role} ${sinceMs}`,
    ]);
    return Object.fromEntries(lines);
  }

  /** In the order in which they were issued. */
  get keys(): string[] {
    return Object.entries(this.#keys).map(
      ([id, { member, untilMs, models, secret, before, overMs }]) =>
        `${id} of ${member} until ${untilMs} for ${models} by ${secret}, ${before}, revoked ${overMs}`,
    );
  }

  /** False where it is open already. */
  open(email: string, kind: string, nowMs: number): boolean {
    if (this.#first !== '') return false;
    this.#first = email.toLowerCase();
    this.#isPersonal = kind === 'personal';
    this.#members[this.#first] = { email, role: 'owner', sinceMs: nowMs };
    return true;
  }

  carryOut(command: AccountCommand): Verdict {
    switch (command.type) {
      case 'AddMember':
        return this.#add(command);
      case 'ChangeMemberRole':
        return this.#change(command.email, command.role);
      case 'RemoveMember': {
        const verdict = this.#change(command.email, null);
        const isOf = (key: PlainKey): boolean => key.member === command.email.toLowerCase();
        const keys = verdict === 'done' ? Object.values(this.#keys).filter(isOf) : [];
        for (const key of keys) key.overMs ??= command.nowMs;
        return verdict;
      }
      case 'IssueKey':
        return this.#issue(command);
      case 'RotateKey':
        return this.#rotate(command);
      case 'RevokeKey': {
        const key = this.#keys[command.keyId];
        if (key === undefined || key.overMs !== null) return 'refused';
        key.overMs = command.nowMs;
        return 'done';
      }
      case 'SetSpendLimit':
        return this.#setLimit(command);
      default:
        throw new Error(`${command.type} is not among what the plain account knows`);
    }
  }

  /** Each limit of these histories says at which percents it is told. */
  #setLimit(command: Of<'SetSpendLimit'>): Verdict {
    const { keyId, member = null, limit, mode = 'hard', thresholdsPercent: percents = [], nowMs } = command;
    const name = member?.toLowerCase() ?? null;
    if (keyId !== null && this.#keys[keyId] === undefined) return 'refused';
    if (name !== null && this.#members[name] === undefined) return 'refused';
    if (limit === null) return this.#limits.set(keyId ?? name, null);
    if (new Set(percents).size < percents.length) return 'refused';
    const verdict = this.#limits.set(keyId ?? name, { mode, most: limit, percents });
    if (verdict === 'done') this.#limits.tellOf(keyId ?? name, new Date(nowMs).toISOString().slice(0, 7));
    return verdict;
  }

  #add({ email, role, nowMs }: Of<'AddMember'>): Verdict {
    const has = this.#members[email.toLowerCase()];
    if (this.#isPersonal) return 'refused';
    if (has !== undefined) return has.role === role ? 'nothing' : 'refused';
    this.#members[email.toLowerCase()] = { email, role, sinceMs: nowMs };
    return 'done';
  }

  /** To nothing with null. */
  #change(email: string, role: string | null): Verdict {
    const name = email.toLowerCase();
    const has = this.#members[name];
    if (has === undefined) return 'refused';
    if (has.role === role) return 'nothing';
    const owners = Object.values(this.#members).filter((one) => one.role === 'owner');
    if (has.role === 'owner' && owners.length === 1) return 'refused';
    if (role === null) delete this.#members[name];
    else has.role = role;
    return 'done';
  }

  #owner(): string {
    if (this.#members[this.#first]?.role === 'owner') return this.#first;
    return Object.keys(this.#members).find((name) => this.#members[name]?.role === 'owner') ?? 'nobody';
  }

  #issue({ keyId, sha256, last4, expiresAtMs, models, member, monthlyLimit, nowMs }: Of<'IssueKey'>): Verdict {
    const untilMs = expiresAtMs ?? Number.POSITIVE_INFINITY;
    const whose = (member ?? this.#owner()).toLowerCase();
    if (this.#keys[keyId] !== undefined || untilMs <= nowMs || this.#members[whose] === undefined) return 'refused';
    const secret = `${sha256} ${last4}`;
    this.#keys[keyId] = { member: whose, untilMs, models, secret, before: null, beforeMs: 0, overMs: null };
    this.#limits.owns(whose, keyId);
    if (monthlyLimit !== null) this.#limits.set(keyId, { mode: 'hard', most: monthlyLimit, percents: USUAL });
    return 'done';
  }

  /** Of several secrets of before the last one works, and none ends early unasked. */
  #rotate({ keyId, sha256, last4, overlapMs, endsPrevious, nowMs }: Of<'RotateKey'>): Verdict {
    const key = this.#keys[keyId];
    if (key === undefined || key.overMs !== null || key.untilMs <= nowMs) return 'refused';
    if (overlapMs < 0 || overlapMs > 30 * DAY_MS) return 'refused';
    if (key.beforeMs > nowMs && !endsPrevious && overlapMs !== 0) return 'refused';
    key.beforeMs = Math.min(nowMs + overlapMs, key.untilMs);
    key.before = `${key.secret} until ${key.beforeMs}`;
    key.secret = `${sha256} ${last4}`;
    return 'done';
  }
}
