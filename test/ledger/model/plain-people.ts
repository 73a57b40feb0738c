import type { AccountCommand } from '../../../ledger/account/commands.ts';
import type { Verdict } from './plain-grants.ts';

type Of<T extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: T }>;

interface PlainKey {
  readonly member: string;
  readonly untilMs: number;
  isOver: boolean;
}

const DAY_MS = 86_400_000;
const USUAL = [50, 80, 100];

/** Whose an account is, its keys, and what they may spend in a month. */
export class PlainPeople {
  readonly #members: Record<string, string> = {};
  readonly #keys: Record<string, PlainKey> = {};
  readonly #limits: Record<string, string> = {};
  #first = '';
  #isPersonal = false;

  /** False where it is open already. */
  open(email: string, kind: string): boolean {
    if (this.#first !== '') return false;
    this.#first = email.toLowerCase();
    this.#isPersonal = kind === 'personal';
    this.#members[this.#first] = 'owner';
    return true;
  }

  carryOut(command: AccountCommand): Verdict {
    switch (command.type) {
      case 'AddMember':
        return this.#add(command);
      case 'ChangeMemberRole':
        return this.#change(command.email, command.role);
      case 'RemoveMember':
        return this.#change(command.email, null);
      case 'IssueKey':
        return this.#issue(command);
      case 'RotateKey': {
        const key = this.#keys[command.keyId];
        const isInUse = key !== undefined && !key.isOver && key.untilMs > command.nowMs;
        return isInUse && command.overlapMs >= 0 && command.overlapMs <= 30 * DAY_MS ? 'done' : 'refused';
      }
      case 'RevokeKey': {
        const key = this.#keys[command.keyId];
        if (key === undefined || key.isOver) return 'refused';
        key.isOver = true;
        return 'done';
      }
      case 'SetSpendLimit':
        return this.#setLimit(command);
      default:
        throw new Error(`${command.type} is not among what the plain account knows`);
    }
  }

  /** Each limit of these histories says at which percents it is told. */
  #setLimit({ keyId, member = null, limit, mode = 'hard', thresholdsPercent = [] }: Of<'SetSpendLimit'>): Verdict {
    if (keyId !== null && this.#keys[keyId] === undefined) return 'refused';
    if (member !== null && this.#members[member.toLowerCase()] === undefined) return 'refused';
    if (limit === null) return this.#limit(keyId ?? member?.toLowerCase() ?? '', 'none');
    if (new Set(thresholdsPercent).size < thresholdsPercent.length) return 'refused';
    return this.#limit(keyId ?? member?.toLowerCase() ?? '', `${mode} ${limit} ${thresholdsPercent}`);
  }

  #limit(whose: string, after: string): Verdict {
    const before = this.#limits[whose] ?? 'none';
    this.#limits[whose] = after;
    return before === after ? 'nothing' : 'done';
  }

  #add({ email, role }: Of<'AddMember'>): Verdict {
    const has = this.#members[email.toLowerCase()];
    if (this.#isPersonal) return 'refused';
    if (has !== undefined) return has === role ? 'nothing' : 'refused';
    this.#members[email.toLowerCase()] = role;
    return 'done';
  }

  /** To nothing with null. */
  #change(email: string, role: string | null): Verdict {
    const name = email.toLowerCase();
    const has = this.#members[name];
    if (has === undefined) return 'refused';
    if (has === role) return 'nothing';
    if (has === 'owner' && Object.values(this.#members).filter((one) => one === 'owner').length === 1) return 'refused';
    if (role !== null) this.#members[name] = role;
    else {
      delete this.#members[name];
      for (const key of Object.values(this.#keys)) if (key.member === name) key.isOver = true;
    }
    return 'done';
  }

  #issue({ keyId, expiresAtMs, member, monthlyLimit, nowMs }: Of<'IssueKey'>): Verdict {
    const untilMs = expiresAtMs ?? Number.POSITIVE_INFINITY;
    const whose = (member ?? this.#first).toLowerCase();
    if (this.#keys[keyId] !== undefined || untilMs <= nowMs || this.#members[whose] === undefined) return 'refused';
    this.#keys[keyId] = { member: whose, untilMs, isOver: false };
    if (monthlyLimit !== null) this.#limit(keyId, `hard ${monthlyLimit} ${USUAL}`);
    return 'done';
  }
}
