import type { AccountEvent, EventData } from '../../contracts/events.ts';
import { GrantsBought } from '../postings/grants-bought.ts';

/** How a plan has ended. */
export interface PlanEnd extends EventData<'PlanEnded'> {
  /** Else it was asked for, and given up before it began. */
  readonly wasInForce: boolean;
}

/** Whether the plan that an account has was ever in force: one that was asked for ends, too, where its first payment is never made. */
export class PlansHad {
  #anchorAt: string | null = null;
  #isHad = false;
  readonly #bought = new GrantsBought();
  /** Since one was in force: the one that was, then the last that never was. */
  ends: readonly PlanEnd[] = [];

  /** An account's events, from its first. */
  take(event: AccountEvent): void {
    const isBought = this.#bought.take(event) !== null;
    const { type, data } = event;
    if (type === 'PlanChanged') {
      const { terms } = data;
      if (terms === null || terms.catalogVersion === null || terms.anchorAt === this.#anchorAt) return;
      this.#anchorAt = terms.anchorAt;
      this.#isHad = false;
    } else if (type === 'PlanEnded') {
      const before = this.#isHad ? [] : this.ends.filter(({ wasInForce }) => wasInForce);
      this.ends = [...before, { ...data, wasInForce: this.#isHad }];
    } else if (type === 'RenewalStarted') this.#begins(data.price === 0n);
    // What is paid too late is credit as bought, and what an operator grants is of no payment, whatever its id.
    else if (type === 'CreditsGranted') this.#begins(data.source === 'plan' && isBought);
  }

  #begins(doesIt: boolean): void {
    if (doesIt) [this.#isHad, this.ends] = [true, []];
  }

  /** As it ends, where it never was; null where its own sentence says it. */
  sentenceOf({ type, data }: AccountEvent): string | null {
    return type === 'PlanEnded' && !this.#isHad ? `plan ${data.plan} never began: ${WHY[data.reason]}` : null;
  }
}

const WHY: { readonly [R in EventData<'PlanEnded'>['reason']]: string } = {
  unpaid: 'its first payment was not made in time',
  cancelled: 'it was not wanted any more before it was paid',
};
