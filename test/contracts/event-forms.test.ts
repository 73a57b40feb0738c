import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { correctionEvents } from '../../contracts/correction-events.ts';
import {
  assertFormsRead,
  BASE_FORMS,
  formsBeyond,
  formsTogether,
  OWN_FORMS,
  versionIn,
} from '../../contracts/event-forms.ts';
import { downcast, FORM_STEPS, type FormSteps, upcast } from '../../contracts/event-upcasters.ts';
import { EVENT_SCHEMAS, type EventType } from '../../contracts/events.ts';
import { memberEvents } from '../../contracts/member-events.ts';
import { paymentEvents } from '../../contracts/payment-events.ts';
import { reloadEvents } from '../../contracts/reload-events.ts';
import { statementEvents } from '../../contracts/statement-events.ts';

const AT = '2026-11-05T10:20:30.456Z';

describe('the forms that every program reads', () => {
  // What programs read whose claims say nothing of forms. A line that turns red tells that such programs would be stopped.
  it('are those of before claims named theirs, and no more', () => {
    const after = new Set([
      ...['FormsAdopted', 'ProviderReconciled', 'LedgerSealed', 'SealKeyIntroduced', 'LedgerMoved'],
      ...Object.keys({ ...correctionEvents, ...paymentEvents, ...reloadEvents, ...memberEvents, ...statementEvents }),
      ...['ApiKeyRotated', 'RenewalStarted', 'PlanEnded'],
    ]);
    expect(new Set(Object.keys(BASE_FORMS))).toEqual(
      new Set(Object.keys(EVENT_SCHEMAS).filter((type) => !after.has(type))),
    );
    const several = Object.entries(BASE_FORMS).filter(([, version]) => version !== 1);
    expect(Object.fromEntries(several)).toEqual({
      UsageRecorded: 2,
      CreditsDebited: 2,
      CreditsLeased: 3,
      CatalogPublished: 3,
      LossAccepted: 2,
    });
  });

  it('are read by this program, which may read more', () => {
    expect(formsBeyond(BASE_FORMS, OWN_FORMS)).toEqual({});
    expect(formsBeyond(OWN_FORMS, BASE_FORMS)).toHaveProperty('FormsAdopted', 1);
  });

  it('are not asked for of a stream that programs of before pass by: neither seals nor reconciliations wait for an adoption', () => {
    expect(Object.keys(OWN_FORMS).filter((type) => /Seal|Reconciled/.test(type))).toEqual([]);
  });
});

describe('a step of the stored forms', () => {
  it('beyond what every program reads has its way down', () => {
    for (const [type, steps] of Object.entries(FORM_STEPS)) expect(oneWay(type, steps)).toEqual([]);
    const [lacking] = [(data: object) => ({ ...data })];
    expect(oneWay('CreditsDebited', [lacking, lacking])).toEqual(['CreditsDebited 3']);
  });

  it('of a stored example becomes by its way down what it was', () => {
    for (const line of readFileSync(new URL('./golden/events-v1.ndjson', import.meta.url), 'utf8')
      .trimEnd()
      .split('\n')) {
      const { type, data, metadata } = JSON.parse(line);
      const { schemaVersion } = JSON.parse(metadata);
      if (schemaVersion < versionIn(BASE_FORMS, type)) continue;
      const stored = JSON.parse(data);
      expect(downcast(type, schemaVersion, upcast(type, schemaVersion, stored) as never)).toEqual(stored);
    }
  });
});

it('which method was declined, where it was another, no form of before can say', () => {
  const failed = { attemptId: 'a', code: 'x', isTerminal: false, failedAt: AT, nextAttemptAt: AT };
  expect(downcast('PaymentFailed', 1, failed)).toEqual(failed);
  expect(downcast('PaymentFailed', 1, { ...failed, declinedMethodId: 'pm_2' })).toBeNull();
});

/** Forms that are reached by a step without a way down, though some program may not read them. */
const oneWay = (type: string, steps: NonNullable<FormSteps[EventType]>): string[] =>
  steps.flatMap((step, index) =>
    index + 2 > versionIn(BASE_FORMS, type) && typeof step === 'function' ? [`${type} ${index + 2}`] : [],
  );

describe('what is stored goes down', () => {
  const plain = (data: object) => ({ ...data, said: 1 });
  const steps: FormSteps = {
    PlanChanged: [
      plain,
      {
        up: (data) => ({ ...data, note: null }),
        down: ({ note, ...data }) => (note === null ? data : null),
      },
      // Its way down forgets.
      { up: (data) => ({ ...data, seats: 1 }), down: ({ seats: _seats, ...data }) => data },
    ],
  };
  const down = (version: number, data: object) => downcast('PlanChanged', version, { ...data }, steps);

  it('to the older form, which is read as what it was', () => {
    const data = { plan: 'pro', said: 1, note: null, seats: 1 };
    expect(down(4, data)).toEqual(data);
    expect(down(3, data)).toEqual({ plan: 'pro', said: 1, note: null });
    expect(down(2, data)).toEqual({ plan: 'pro', said: 1 });
    expect(upcast('PlanChanged', 2, { plan: 'pro', said: 1 }, steps)).toEqual(data);
  });

  it('not where the older form cannot say it, would say something else, or has no way there', () => {
    expect(down(2, { plan: 'pro', said: 1, note: 'a', seats: 1 })).toBeNull();
    expect(down(3, { plan: 'pro', said: 1, note: null, seats: 2 })).toBeNull();
    expect(down(1, { plan: 'pro', said: 1, note: null, seats: 1 })).toBeNull();
    expect(down(0, { plan: 'pro', said: 1, note: null, seats: 1 })).toBeNull();
  });
});

describe('forms', () => {
  it('are put together by the newest of each type', () => {
    expect(formsTogether({ A: 1, B: 3 }, { A: 2, B: 2, C: 1 })).toEqual({ A: 2, B: 3, C: 1 });
  });

  it('that were adopted and are not read are refused by name, in one line', () => {
    expect(() => assertFormsRead({ A: 2 }, { A: 2, B: 1 })).not.toThrow();
    expect(() => assertFormsRead({ A: 3, constructor: 1, B: 1 }, { A: 2, B: 1 })).toThrow(
      /^the ledger has adopted forms of events that this program does not read: A 3 \(this program reads 2\), constructor 1 \(this program does not read the type\); start a newer one$/,
    );
  });
});
