import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { isOpen, type PlainAttempt, PlainAttempts } from './plain-attempts.ts';
import type { Verdict } from './plain-grants.ts';

type Of<T extends AccountCommand['type']> = Extract<AccountCommand, { readonly type: T }>;

interface PlainReload {
  readonly threshold: bigint;
  readonly target: bigint;
  readonly cap: bigint;
  /** Null is off. */
  readonly consentedMs: number | null;
  /** Whoever could pay has said no so often. */
  noes: number;
  /** It came to nothing so often. */
  vain: number;
  notBeforeMs: number;
  /** Why; null where it is not. */
  paused: string | null;
  /** Why none was begun last, where that was written down and is so still. */
  skipped: string | null;
}

const HOUR_MS = 3_600_000;
/** Micro-USD. */
const [CENT, HALF_A_DOLLAR] = [10_000n, 500_000n];

/** What was paid, and is about to be. */
export class PlainPayments {
  readonly attempts = new PlainAttempts();
  #consentedAtMs = 0;
  #removedAtMs = 0;
  #reload: PlainReload | null = null;
  /** What the last look at auto-reload came to. */
  looked = '';

  /** What may be charged, and since when; and since when nothing may be, where that was so once. */
  get method(): { readonly card: string | null; readonly consentedMs: number | null; readonly removedMs: number } {
    const { card } = this.attempts;
    return { card, consentedMs: card === null ? null : this.#consentedAtMs, removedMs: this.#removedAtMs };
  }

  /** Its terms, and how it stands; null where it was never set up. */
  get auto(): unknown {
    if (this.#reload === null) return null;
    const { threshold, target, cap, consentedMs, noes, vain, paused } = this.#reload;
    return { threshold, target, cap, consentedMs, noes, vain, paused };
  }

  /** Null for what is no payment's. */
  carryOut(command: AccountCommand): Verdict | null {
    switch (command.type) {
      case 'StartPurchase':
        return this.#purchase(command);
      case 'RecordPaymentFailure':
        return this.#unlessOver(command.attemptId, (attempt) => this.#fail(attempt, command));
      case 'RequirePaymentAction':
        return this.#unlessOver(command.attemptId, (attempt) => {
          if (attempt.state === 'waits') return 'nothing';
          Object.assign(attempt, { state: 'waits', payment: command.paymentId });
          return 'done';
        });
      case 'EndPurchase':
      case 'AbandonPayment':
        if (
          command.type === 'EndPurchase' &&
          (this.attempts.find(command.attemptId)?.kind ?? 'purchase') !== 'purchase'
        )
          return 'refused';
        return this.#unlessOver(command.attemptId, (attempt) =>
          this.#giveUp(attempt, command.nowMs, 'endedBy' in command && command.endedBy !== undefined),
        );
      case 'SavePaymentMethod': {
        const method = `${command.provider} ${command.paymentMethodId}`;
        const isOlder = command.consentedAtMs < (this.attempts.card === null ? this.#removedAtMs : this.#consentedAtMs);
        if (this.attempts.card === method || isOlder) return 'nothing';
        this.attempts.card = method;
        this.#consentedAtMs = command.consentedAtMs;
        this.#anew();
        return 'done';
      }
      case 'RemovePaymentMethod': {
        const had = this.attempts.card;
        if (had !== null) this.#removedAtMs = command.nowMs;
        this.attempts.card = null;
        return had === null ? 'nothing' : 'done';
      }
      case 'ConfigureAutoReload':
        return this.#configure(command);
      default:
        return null;
    }
  }

  paidBy(payment: string): PlainAttempt | undefined {
    return this.attempts.all.find((one) => one.state === 'paid' && one.payment === payment);
  }

  /** What it bought by itself it does not buy once more. */
  wentBack({ kind }: PlainAttempt, why: string): void {
    if (kind === 'reload' && this.#reload !== null && this.#reload.consentedMs !== null) this.#reload.paused ??= why;
  }

  /** Whether a refund or a dispute has the id. */
  knows(id: string): boolean {
    return this.attempts.all.some(({ refunds, disputes }) => refunds[id] !== undefined || disputes[id] !== undefined);
  }

  pay(command: Of<'RecordPayment'>, isGranted: boolean): Verdict {
    const attempt = this.attempts.find(command.attemptId);
    if (attempt === undefined) return 'refused';
    if (attempt.state === 'paid') return attempt.payment === command.paymentId ? 'nothing' : 'refused';
    if (command.provider !== attempt.provider || command.amount !== attempt.price || isGranted) return 'refused';
    attempt.state = 'paid';
    attempt.payment = command.paymentId;
    attempt.paidMs = Math.min(command.nowMs, Math.max(attempt.startedMs, command.paidAtMs));
    // Whoever had paused it has to go on with it by hand.
    const paused = this.#reload?.paused ?? null;
    const isReload = attempt.kind === 'reload';
    if (isReload) this.#anew();
    if (this.#reload !== null && isReload) this.#reload.paused = paused;
    return 'done';
  }

  /** @param available what can be spent now; below zero where something is owed */
  reload(
    { attemptId, provider, nowMs }: Of<'StartAutoReload'>,
    available: bigint,
    { isSuspended, isPlanPaying }: { readonly isSuspended: boolean; readonly isPlanPaying: boolean },
  ): Verdict {
    this.looked = '';
    const reload = this.#reload;
    if (reload === null) return 'nothing';
    const month = monthOf(nowMs);
    const reloads = this.attempts.all.filter(({ kind }) => kind === 'reload');
    const pending = sum(reloads.filter(isOpen));
    if (available + pending > reload.threshold) return 'nothing';
    const missing = reload.target - available - pending;
    const amount = missing % CENT === 0n ? missing : missing + CENT - (missing % CENT);
    const ofMonth = sum(
      reloads.filter((one) => monthOf(one.startedMs) === month && one.state !== 'failed' && one.state !== 'abandoned'),
    );
    const why =
      reload.consentedMs === null || nowMs < reload.consentedMs
        ? 'disabled'
        : isSuspended
          ? 'suspended'
          : reload.paused !== null
            ? 'paused'
            : pending > 0n || isPlanPaying
              ? 'pending'
              : nowMs < reload.notBeforeMs
                ? 'backoff'
                : this.attempts.card === null
                  ? 'no_payment_method'
                  : ofMonth + amount > reload.cap
                    ? 'cap'
                    : null;
    if (why !== null && why === reload.skipped) return 'nothing';
    this.looked = why ?? `starts ${amount}`;
    reload.skipped = why;
    if (why === null)
      this.attempts.begin(attemptId, { kind: 'reload', provider, credits: amount, price: amount, period: null, nowMs });
    return 'done';
  }

  #purchase({ attemptId, provider, amount, price, nowMs }: Of<'StartPurchase'>): Verdict {
    if (amount <= 0n || price <= 0n) return 'refused';
    const known = this.attempts.find(attemptId);
    if (known !== undefined) {
      const isSame =
        known.kind === 'purchase' && known.provider === provider && known.credits === amount && known.price === price;
      return isSame ? 'nothing' : 'refused';
    }
    if (this.attempts.all.some((one) => one.kind === 'purchase' && isOpen(one))) return 'refused';
    this.attempts.begin(attemptId, { kind: 'purchase', provider, credits: amount, price, period: null, nowMs });
    return 'done';
  }

  #unlessOver(attemptId: string, change: (attempt: PlainAttempt) => Verdict): Verdict {
    const attempt = this.attempts.find(attemptId);
    if (attempt === undefined) return 'refused';
    return isOpen(attempt) ? change(attempt) : 'nothing';
  }

  #giveUp(attempt: PlainAttempt, nowMs: number, isByOperator: boolean): Verdict {
    attempt.state = 'abandoned';
    if (attempt.provider === 'manual' || isByOperator) attempt.no = 'once';
    const isOfTerms = attempt.startedMs >= (this.#reload?.consentedMs ?? Number.POSITIVE_INFINITY);
    if (attempt.kind === 'reload' && isOfTerms)
      this.#inVain(nowMs, {
        ...{ why: 'given_up', isForGood: false },
        isAnswer: attempt.no !== null && !this.attempts.isOfOldCard(attempt),
      });
    return 'done';
  }

  #fail(attempt: PlainAttempt, command: Of<'RecordPaymentFailure'>): Verdict {
    const { code: why, isTerminal: isForGood, declinedMethodId: said, nowMs } = command;
    const card = said === undefined ? attempt.card : `${attempt.provider} ${said}`;
    if (card !== attempt.card && this.attempts.isOneTooMany(attempt)) return this.#giveUp(attempt, nowMs, false);
    attempt.isOthers = card !== attempt.card;
    attempt.card = card;
    this.attempts.fail(attempt, isForGood);
    if (attempt.kind !== 'reload') return 'done';
    const isLast = isForGood || this.attempts.isTired(attempt.card, nowMs);
    if (!this.attempts.isOfOldCard(attempt)) this.#inVain(nowMs, { why, isForGood: isLast, isAnswer: true });
    else if (this.#reload !== null) this.#reload.notBeforeMs = 0;
    return 'done';
  }

  /** @param of isAnswer: whoever could pay has said no */
  #inVain(
    nowMs: number,
    { why, isForGood, isAnswer }: { readonly why: string; readonly isForGood: boolean; readonly isAnswer: boolean },
  ): void {
    const reload = this.#reload;
    if (reload === null) return;
    reload.vain += 1;
    if (isAnswer) reload.noes += 1;
    const isLast = isAnswer && (isForGood || reload.noes > 3);
    if (isLast) reload.paused ??= why;
    reload.notBeforeMs = isLast ? 0 : nowMs + HOUR_MS * Math.min(4, 2 ** (reload.vain - 1));
  }

  #configure({ threshold, target, monthlyCap: cap, consentedAtMs }: Of<'ConfigureAutoReload'>): Verdict {
    if (target - threshold < HALF_A_DOLLAR || cap < target - threshold) return 'refused';
    const before = this.#reload;
    const isSame = before?.threshold === threshold && before.target === target && before.cap === cap;
    if (
      before !== null &&
      isSame &&
      (before.consentedMs === null) === (consentedAtMs === null) &&
      before.paused === null
    )
      return 'nothing';
    const isPaused = consentedAtMs !== null && this.attempts.isSpent(consentedAtMs);
    if (isPaused && (isSame || before === null || before.consentedMs === null)) return 'refused';
    const paused = isPaused ? (before?.paused ?? 'payment_method_declined') : null;
    const anew = { noes: 0, vain: 0, notBeforeMs: 0, paused, skipped: null };
    this.#reload = { threshold, target, cap, consentedMs: consentedAtMs, ...anew };
    return 'done';
  }

  #anew(): void {
    if (this.#reload !== null)
      Object.assign(this.#reload, { noes: 0, vain: 0, notBeforeMs: 0, paused: null, skipped: null });
  }
}

const monthOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 7);

const sum = (attempts: readonly PlainAttempt[]): bigint => attempts.reduce((all, { price }) => all + price, 0n);
