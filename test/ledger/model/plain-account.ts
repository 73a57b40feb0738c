import type { AccountEvent } from '../../../contracts/events.ts';
import type { AccountCommand } from '../../../ledger/account/commands.ts';
import { isOver, least, type PlainGrant, type PlainPart, takeFor, type Verdict } from './plain-grants.ts';
import { type Of, PlainMoney } from './plain-money.ts';
import { PlainPayments } from './plain-payments.ts';
import { PlainPeople } from './plain-people.ts';
import { PlainPlans } from './plain-plans.ts';
import {
  comesBackOf,
  creditsGone,
  goneOf,
  idOf,
  isUnsaid,
  lastOf,
  numbered,
  type PlainRevocation,
  refundedOf,
  revokedByHand,
  toldAs,
} from './plain-returns.ts';

const DAY_MS = 86_400_000;

/**
 * An account in the plainest form, from its commands alone: it says of each whether it is refused, and what there is
 * afterwards. It shares no code with the ledger, and reads none of its events, but of a lease how much was given.
 */
export class PlainAccount extends PlainMoney {
  readonly payments = new PlainPayments();
  readonly plans = new PlainPlans(this.payments.attempts, ({ id, amount, untilMs }) => {
    const fromMs = this.statements.nowMs;
    this.add({ id, amount, isPaid: false, priority: 100, fromMs, untilMs }, fromMs);
  });
  readonly people = new PlainPeople(this.limits);
  isSuspended = false;
  readonly #revocations: Record<string, PlainRevocation> = {};
  readonly #restorations: Record<string, string> = {};
  readonly #reversals: Record<string, string> = {};
  readonly #adjustments: Record<string, string> = {};

  carryOut(command: AccountCommand, decided: readonly AccountEvent[], nowMs: number): Verdict {
    this.statements.nowMs = nowMs;
    switch (command.type) {
      case 'OpenAccount':
        return this.#open(command);
      case 'GrantCredits':
        return this.grant(command);
      case 'RecordUsage':
        return this.use(command);
      case 'ReportLateUsage':
        return this.reportLate(command.usage);
      case 'ApproveException':
      case 'DropException':
        return this.end(command);
      case 'ExpireCredits':
        return this.expire(command);
      case 'ReinstateCredits':
        return this.reinstate(command);
      case 'RevokeGrant':
        return this.#isTakenByItself(command) ? 'refused' : this.#revoke(command);
      case 'RestoreGrant':
        return this.#restore(command);
      case 'ReverseDebit':
        return this.#reverse(command);
      case 'AdjustBalance':
        return this.#adjust(command);
      case 'SuspendAccount':
      case 'ReinstateAccount':
        return this.#suspend(command.type === 'SuspendAccount', command.reason);
      case 'LeaseCredits':
      case 'ReleaseLease':
        return this.lease(decided);
      case 'RecordRefund':
        return this.#refund(command);
      case 'RecordDispute':
        return this.#dispute(command);
      case 'WithdrawRefund':
        return this.#withdraw(command);
      case 'CloseDispute':
        return this.#closeDispute(command);
      case 'RecordPayment':
        return this.#pay(command);
      case 'StartAutoReload':
        return this.payments.reload(command, this.usable(command.nowMs), {
          isSuspended: this.isSuspended,
          isPlanPaying: this.plans.isPaying(command.nowMs),
        });
      case 'CloseStatement':
        return this.statements.close(command, this.grants);
      default:
        return (
          this.plans.carryOut(command, this.isSuspended) ??
          this.#tellPlans(command, this.payments.carryOut(command)) ??
          this.people.carryOut(command)
        );
    }
  }

  #open({ trial, trialGrantId, nowMs, email, kind }: Of<'OpenAccount'>): Verdict {
    if (!this.people.open(email, kind, nowMs)) return 'refused';
    const untilMs = nowMs + 30 * DAY_MS;
    if (trial > 0n)
      this.add({ id: trialGrantId, amount: trial, isPaid: false, priority: 0, fromMs: nowMs, untilMs }, nowMs);
    return 'done';
  }

  /** A refund or a dispute of what was paid here, or what is called as one. */
  #isTakenByItself({ revocationId, grantId, cause, paymentId }: Of<'RevokeGrant'>): boolean {
    if (this.#revocations[revocationId] !== undefined) return false;
    const paid = cause === 'refund' || cause === 'dispute' ? [paymentId ?? '', grantId.replace(/^payment_/, '')] : [];
    return this.payments.knows(revocationId) || paid.some((id) => this.payments.paidBy(id) !== undefined);
  }

  #revoke({ revocationId, grantId, amount, cause, paymentId, reason, nowMs }: Of<'RevokeGrant'>): Verdict {
    if (reason.trim() === '') return 'refused';
    const grant = this.find(grantId);
    const held = grant === undefined || isOver(grant, nowMs) ? 0n : grant.left;
    const known = this.#revocations[revocationId];
    if (known !== undefined) {
      const isSame = known.grant === grantId && known.cause === cause && known.payment === paymentId;
      const isUndone = known.owed + known.taken < known.amount;
      const isSo = amount === null ? held === 0n : amount === known.amount;
      return isSame && !isUndone && isSo ? 'nothing' : 'refused';
    }
    if (grant === undefined) return 'refused';
    const mayOwe = cause === 'refund' || cause === 'dispute';
    const most = least(held, this.#revocable(grant));
    const wanted = amount ?? most;
    if (wanted <= 0n || wanted > (mayOwe ? this.#revocable(grant) : most)) return 'refused';
    const taken = least(wanted, held);
    grant.left -= taken;
    grant.revoked += taken;
    grant.lost += wanted - taken;
    const payers = this.#owe(wanted - taken, nowMs);
    const rest = { taken, owed: wanted - taken, given: 0n, payers };
    this.#revocations[revocationId] = { grant: grantId, cause, payment: paymentId, amount: wanted, ...rest };
    this.statements.move(-wanted, nowMs);
    return 'done';
  }

  /** As though a request had cost it: whatever there is, or will be, pays first. */
  #owe(amount: bigint, nowMs: number): PlainPart[] {
    const parts = takeFor(this.grants, amount, nowMs, nowMs);
    this.owed += parts.pop()?.amount ?? 0n;
    return parts;
  }

  /** What it gave, and nobody has taken back. */
  #revocable({ id, amount }: PlainGrant): bigint {
    const ofGrant = Object.values(this.#revocations).filter(({ grant }) => grant === id);
    return ofGrant.reduce((left, { owed, taken }) => left - owed - taken, amount);
  }

  #restore({ restorationId, revocationId, amount, reason, nowMs }: Of<'RestoreGrant'>, isByHand = true): Verdict {
    if (reason.trim() === '') return 'refused';
    const known = this.#restorations[restorationId];
    const revocation = this.#revocations[revocationId];
    if (revocation === undefined) return 'refused';
    const wasPaidBack = revocation.cause === 'refund' || revocation.cause === 'dispute';
    const own = revocation.owed + revocation.taken;
    const all = wasPaidBack ? own : least(own, this.#stillPaid(revocation.grant) ?? own);
    if (known !== undefined) {
      const isSo = amount === null ? all === 0n : known.endsWith(` ${amount}`);
      return known.startsWith(`${revocationId} `) && isSo ? 'nothing' : 'refused';
    }
    const wanted = amount ?? all;
    if (wanted <= 0n || wanted > all) return 'refused';
    const owed = least(wanted, revocation.owed);
    const parts = [{ grant: revocation.grant, amount: wanted - owed }];
    const payers = lastOf(revocation.payers, revocation.owed);
    if (!this.comeBack({ owed, payers, parts, wereRevoked: true }, nowMs)) return 'refused';
    revocation.owed -= owed;
    revocation.taken -= wanted - owed;
    if (isByHand) revocation.given += wanted;
    this.#restorations[restorationId] = `${revocationId} ${wanted}`;
    this.statements.move(wanted, nowMs);
    return 'done';
  }

  #reverse({ reversalId, requestId, amount, reason, nowMs }: Of<'ReverseDebit'>): Verdict {
    if (reason.trim() === '') return 'refused';
    const known = this.#reversals[reversalId];
    const taken = this.taken[requestId];
    const request = this.requests[requestId];
    if (taken === undefined || request === undefined) return 'refused';
    const all = taken.reduce((sum, part) => sum + part.amount, 0n);
    if (known !== undefined) {
      const isSo = amount === null ? all === 0n : known.endsWith(` ${amount}`);
      return known.startsWith(`${requestId} `) && isSo ? 'nothing' : 'refused';
    }
    const wanted = amount ?? all;
    if (wanted <= 0n || wanted > all) return 'refused';
    // From what was taken last.
    const [rest, back] = [[...taken], [] as PlainPart[]];
    for (let left = wanted; left > 0n; ) {
      const part = rest.pop();
      if (part === undefined) throw new Error('there is no more');
      const share = least(part.amount, left);
      left -= share;
      back.push({ grant: part.grant, amount: share });
      if (part.amount > share) rest.push({ grant: part.grant, amount: part.amount - share });
    }
    const owed = back.reduce((sum, part) => (part.grant === null ? sum + part.amount : sum), 0n);
    const parts = back.filter(({ grant }) => grant !== null);
    if (!this.comeBack({ owed, payers: [], parts, wereRevoked: false }, nowMs)) return 'refused';
    this.taken[requestId] = rest;
    this.#reversals[reversalId] = `${requestId} ${wanted}`;
    this.spend(request.month, request.key, -wanted);
    this.statements.move(wanted, nowMs);
    return 'done';
  }

  #adjust({ adjustmentId: id, direction, amount, reason, nowMs }: Of<'AdjustBalance'>): Verdict {
    if (reason.trim() === '') return 'refused';
    const known = this.#adjustments[id];
    if (known !== undefined) return known === `${direction} ${amount}` ? 'nothing' : 'refused';
    if (amount <= 0n || (direction === 'up' && this.find(id) !== undefined)) return 'refused';
    this.#adjustments[id] = `${direction} ${amount}`;
    if (direction === 'up') {
      const untilMs = Number.POSITIVE_INFINITY;
      this.add({ id, amount, isPaid: false, priority: 100, fromMs: nowMs, untilMs }, nowMs);
    } else {
      this.#owe(amount, nowMs);
      this.statements.move(-amount, nowMs);
    }
    return 'done';
  }

  #suspend(isSuspended: boolean, reason: string): Verdict {
    if (reason.trim() === '' || this.isSuspended === isSuspended) return 'refused';
    this.isSuspended = isSuspended;
    return 'done';
  }

  #tellPlans(command: AccountCommand, verdict: Verdict | null): Verdict | null {
    if (verdict !== 'done') return verdict;
    if (command.type === 'SavePaymentMethod') this.plans.tryNow();
    if (command.type !== 'RecordPaymentFailure' && command.type !== 'AbandonPayment') return verdict;
    const attempt = this.payments.attempts.find(command.attemptId);
    if (attempt === undefined) return verdict;
    const isTired = this.payments.attempts.isTired(attempt.card, command.nowMs);
    const isDeclined = command.type === 'RecordPaymentFailure' && attempt.state === 'failed';
    const isToBeTried = isDeclined && !command.isTerminal && !isTired;
    this.plans.ended(attempt, isToBeTried ? command.nowMs : null);
    return verdict;
  }

  #pay(command: Of<'RecordPayment'>): Verdict {
    const id = `payment_${command.paymentId}`;
    const verdict = this.payments.pay(command, this.find(id) !== undefined);
    const attempt = this.payments.attempts.find(command.attemptId);
    if (verdict !== 'done' || attempt === undefined) return verdict;
    const { nowMs, paidAtMs } = command;
    const untilMs = this.plans.untilMs(attempt, nowMs);
    this.plans.paid(attempt);
    const fromMs = Math.min(nowMs, Math.max(attempt.startedMs, paidAtMs));
    this.add({ id, amount: attempt.credits, isPaid: true, priority: 100, fromMs, untilMs }, fromMs);
    return 'done';
  }

  #refund({ paymentId, refundId, amount, reason, stood, nowMs }: Of<'RecordRefund'>): Verdict {
    const attempt = this.payments.paidBy(paymentId);
    if (attempt === undefined || isUnsaid(attempt, reason)) return 'refused';
    const { refunds, price } = attempt;
    const last = reason === undefined ? toldAs(refunds, refundId, this.#isKnown(refundId)) : refundId;
    const known = refunds[last];
    if (known !== undefined && known > 0n) return known === amount ? 'nothing' : 'refused';
    if (known !== undefined && (reason !== undefined || stood !== last)) return 'refused';
    const id = idOf(refundId, reason, (one) => this.#isKnown(one));
    if (id === null) return 'refused';
    const before = refundedOf(refunds, this.#revocations);
    const gone = reason === undefined ? before : goneOf(attempt);
    if (amount <= 0n || gone + amount > price) return 'refused';
    refunds[id] = amount;
    this.payments.wentBack(attempt, 'refunded');
    this.#takeBack({ paymentId, id, cause: 'refund', amount, before, nowMs });
    return 'done';
  }

  #dispute({ paymentId, disputeId, amount, reason, stood, nowMs }: Of<'RecordDispute'>): Verdict {
    const attempt = this.payments.paidBy(paymentId);
    if (attempt === undefined || isUnsaid(attempt, reason)) return 'refused';
    const { disputes, price } = attempt;
    const last = reason === undefined ? toldAs(disputes, disputeId, this.#isKnown(disputeId)) : disputeId;
    const known = disputes[last];
    if (known?.amount === amount) return 'nothing';
    if (known !== undefined && (reason !== undefined || known.outcome !== 'won' || stood !== last)) return 'refused';
    const id = idOf(disputeId, reason, (one) => this.#isKnown(one));
    const gone = reason === undefined ? 0n : goneOf(attempt);
    if (id === null || amount <= 0n || gone + amount > price) return 'refused';
    disputes[id] = { amount, outcome: null };
    this.payments.wentBack(attempt, 'disputed');
    this.#takeBack({ paymentId, id, cause: 'dispute', amount, before: 0n, nowMs });
    return 'done';
  }

  #isKnown(id: string): boolean {
    return this.#revocations[id] !== undefined || this.payments.knows(id);
  }

  #takeBack(what: {
    readonly paymentId: string;
    readonly id: string;
    readonly cause: 'refund' | 'dispute';
    readonly amount: bigint;
    readonly before: bigint;
    readonly nowMs: number;
  }): void {
    const { paymentId, id, cause, amount, before, nowMs } = what;
    const attempt = this.payments.paidBy(paymentId);
    const grant = this.find(`payment_${paymentId}`);
    if (attempt === undefined || grant === undefined) throw new Error(`${paymentId} was not paid`);
    const { credits, price } = attempt;
    const part = (credits * (before + amount)) / price - (credits * before) / price;
    const taken = least(part, this.#revocable(grant));
    if (taken <= 0n) return;
    const said = { cause, paymentId, reason: cause, actor: 'x', nowMs } as const;
    const ids = { revocationId: id, grantId: grant.id as never } as const;
    if (this.#revoke({ type: 'RevokeGrant', ...ids, amount: taken as never, ...said }) !== 'done')
      throw new Error(`${id} takes nothing back`);
  }

  #withdraw({ paymentId, refundId, reason, nowMs }: Of<'WithdrawRefund'>): Verdict {
    const attempt = this.payments.paidBy(paymentId);
    if (attempt === undefined || isUnsaid(attempt, reason) || reason?.trim() === '') return 'refused';
    const { refunds } = attempt;
    const id = reason === undefined ? toldAs(refunds, refundId, this.#isKnown(refundId)) : refundId;
    const amount = refunds[id];
    if (amount === undefined) return reason === undefined ? 'nothing' : 'refused';
    if (amount === 0n) return 'nothing';
    refunds[id] = 0n;
    if (this.#isBack({ paymentId, id, word: 'withdrawn', nowMs })) return 'done';
    refunds[id] = amount;
    return 'refused';
  }

  #closeDispute({ paymentId, disputeId: named, outcome, reason, stood = null, nowMs }: Of<'CloseDispute'>): Verdict {
    const attempt = this.payments.paidBy(paymentId);
    if (attempt === undefined || isUnsaid(attempt, reason)) return 'refused';
    const disputeId = reason === undefined ? toldAs(attempt.disputes, named, this.#isKnown(named)) : named;
    const dispute = attempt.disputes[disputeId];
    if (dispute === undefined) return 'refused';
    const { amount, outcome: before } = dispute;
    if (before === outcome) return 'nothing';
    if (reason === undefined && stood !== before) return 'refused';
    if (before === 'won' && reason !== undefined && goneOf(attempt) + amount > attempt.price) return 'refused';
    dispute.outcome = outcome;
    if (before === 'won') {
      this.payments.wentBack(attempt, 'disputed');
      const id = numbered(`${disputeId}_lost`, (one) => this.#isKnown(one));
      this.#takeBack({ paymentId, id, cause: 'dispute', amount, before: 0n, nowMs });
    }
    if (outcome === 'lost' || this.#isBack({ paymentId, id: disputeId, word: 'won', nowMs })) return 'done';
    dispute.outcome = before;
    return 'refused';
  }

  /** What comes back with the money of a dispute or a refund; false where the first of it may not. */
  #isBack({
    paymentId,
    id: own,
    word,
    nowMs,
  }: Readonly<Record<'paymentId' | 'id' | 'word', string>> & { nowMs: number }) {
    let times = 0;
    const grant = `payment_${paymentId}`;
    for (const of of new Set([own, ...comesBackOf(this.payments.paidBy(paymentId))]))
      for (const revocationId of [of, ...this.#lostAgain(of, grant)]) {
        const most = (this.#stillPaid(grant) ?? 0n) - revokedByHand(this.#revocations, grant);
        const { owed = 0n, taken = 0n } = this.#revocations[revocationId] ?? {};
        const amount = least(owed + taken, most);
        if (amount <= 0n) continue;
        times++;
        const restorationId = numbered(`${own}_${word}`, (id) => this.#restorations[id] !== undefined);
        const what = { restorationId, revocationId, amount: amount as never, reason: word };
        if (this.#restore({ type: 'RestoreGrant', ...what, actor: 'x', nowMs }, false) === 'done') continue;
        if (times > 1) throw new Error(`${restorationId} was refused behind another`);
        return false;
      }
    return true;
  }

  /** What a dispute took as it was lost after it had been won. */
  #lostAgain(id: string, grant: string): string[] {
    const ofGrant = Object.keys(this.#revocations).filter((one) => this.#revocations[one]?.grant === grant);
    return ofGrant.filter((one) => one.startsWith(`${id}_lost`) && !this.payments.knows(one));
  }

  /** Of what was revoked of a grant, that for which there is money still; null where nobody paid for it. */
  #stillPaid(grantId: string): bigint | null {
    const grant = this.find(grantId);
    const attempt = this.payments.paidBy(grantId.replace('payment_', ''));
    if (grant === undefined || attempt === undefined) return null;
    const gone = creditsGone(attempt, (id) => this.#revocations[[id, ...this.#lostAgain(id, grantId)].at(-1) ?? id]);
    const left = grant.amount - this.#revocable(grant) - gone;
    return left > 0n ? left : 0n;
  }
}
