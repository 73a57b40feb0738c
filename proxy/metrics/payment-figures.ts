import type { PaymentProvider } from '../../ledger/payments/payment-provider.ts';
import type { OpenPayments } from '../../projections/open-payments.ts';
import { Tally } from '../tally.ts';

const ASKED = ['answered', 'failed', 'refused'] as const;
type Asked = (typeof ASKED)[number];

const STATUSES = [200, 400, 409, 503] as const;
type WebhookStatus = (typeof STATUSES)[number];

interface FigureParts {
  /** Who is configured to take the money. */
  readonly provider: string;
  readonly open: () => OpenPayments;
}

/** What whoever looks after payments has to know of them: what is open, what the provider answers, what it tells. */
export class PaymentFigures {
  readonly #parts: FigureParts;
  readonly #asked = new Tally<Asked>();
  readonly #webhooks = new Tally<WebhookStatus>();

  constructor(parts: FigureParts) {
    this.#parts = parts;
  }

  /** The same provider, with a count of what it answers; of questions other than of an attempt, in vain is that it was away, or has refused. */
  counted<P extends PaymentProvider>(provider: P): P {
    return new Proxy(provider, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (...args: unknown[]) => this.#count(value.apply(target, args)) : value;
      },
    });
  }

  /** A message of the provider's was answered so. */
  heard(status: WebhookStatus): void {
    this.#webhooks.add(status);
  }

  asked(): (readonly [Asked, number])[] {
    return ASKED.map((outcome) => [outcome, this.#asked.of(outcome)]);
  }

  webhooks(): (readonly [WebhookStatus, number])[] {
    return STATUSES.map((status) => [status, this.#webhooks.of(status)]);
  }

  /** Of each provider that any are at, and of the one that is configured: how many, and for how long the oldest. */
  open(nowMs: number): { readonly provider: string; readonly count: number; readonly oldestMs: number }[] {
    const open = this.#parts.open().byProvider();
    return [...new Set([this.#parts.provider, ...open.keys()])].map((provider) => {
      const { count, oldestMs } = open.get(provider) ?? { count: 0, oldestMs: nowMs };
      return { provider, count, oldestMs: Math.max(0, nowMs - oldestMs) };
    });
  }

  #count(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer;
    return answer.then(
      (value: unknown) => {
        this.#asked.add(isRefusal(value) ? 'refused' : 'answered');
        return value;
      },
      (error: unknown) => {
        this.#asked.add('failed');
        throw error;
      },
    );
  }
}

const isRefusal = (value: unknown): boolean => value instanceof Object && 'type' in value && value.type === 'refused';
