import { counted } from '../../../contracts/money.ts';
import { saveMethodCommand } from '../../../ledger/account/save-method-command.ts';
import { awaitedPaymentsIn } from '../../../projections/awaited-payments.ts';
import { whyDamaged } from '../../../projections/damaged-views.ts';
import { viewFilesOf } from '../../../projections/view-files.ts';
import { lengthOf } from '../../clock/clock-watch.ts';
import { nextCommand, startedWithOf } from '../next-command.ts';
import { type Examined, type Finding, type Found, firstNamed, looked, ok, readingUntilMs, warn } from './finding.ts';

const DAY_MS = 86_400_000;

/** Payments that are open for long, plans that are not paid, and accounts that cannot pay as they are configured to. */
export const lookAtPaying = ({ configuration, context, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'paying accounts',
    advice: null,
    look: async () => {
      const { live } = viewFilesOf(configuration.data);
      const untilMs = readingUntilMs({ timeMs });
      try {
        return verdictOf(await awaitedPaymentsIn(live, context.clock(), () => performance.now() < untilMs), {
          nowMs: context.clock(),
          provider: configuration.payments.provider,
          context,
        });
      } catch (error) {
        return warn(`not looked at: the views cannot be read (${whyDamaged(live, error)})`);
      }
    },
  });

function verdictOf(
  { found, count, isWhole }: Awaited<ReturnType<typeof awaitedPaymentsIn>>,
  { nowMs, provider, context }: { readonly nowMs: number; readonly provider: string } & Pick<Examined, 'context'>,
): Found {
  const long = found.flatMap(({ accountId, open }) =>
    open.flatMap(({ attemptId, provider, startedAtMs }) =>
      nowMs - startedAtMs > DAY_MS ? [`${accountId} ${attemptId} (${provider}, ${lengthOf(nowMs - startedAtMs)})`] : [],
    ),
  );
  const givenUp = found.flatMap(({ accountId, givenUp }) =>
    givenUp.map(({ attemptId, provider }) => `${accountId} ${attemptId} (${provider})`),
  );
  const inGrace = found.flatMap(({ accountId, graceUntilMs }) =>
    graceUntilMs === null ? [] : [`${accountId} (until ${new Date(graceUntilMs).toISOString()})`],
  );
  const unable = found.flatMap(({ accountId, lacksMethod }) => (lacksMethod ? [accountId] : []));
  const next = (...words: readonly string[]): string => nextCommand(startedWithOf(context), 'gateway', ...words);
  const ofAttempt = (word: string, ...more: readonly string[]): string =>
    next('payment', word, 'ACCOUNT', 'ATTEMPT', ...more);
  const all = [
    ...told(
      'payment',
      'open for more than a day',
      long,
      `${ofAttempt('ask')}, or of manual ones ${ofAttempt('confirm')}, or ${ofAttempt('decline', '--reason', '"…"')}`,
    ),
    ...told(
      'payment',
      'given up, with nothing charged, to be begun again later',
      givenUp,
      `${next('ledger', 'replay', 'ACCOUNT')} says why: where the provider has refused, its key, its rights and its account are to be looked at`,
    ),
    ...told(
      'plan',
      'in grace, with a period that is not paid',
      inGrace,
      `${next('account', 'show', 'ACCOUNT')} says why`,
    ),
    ...told(
      'account',
      'with auto-reload and nothing to charge',
      unable,
      nextCommand(startedWithOf(context), ...saveMethodCommand('ACCOUNT', provider)),
    ),
    ...(isWhole
      ? []
      : [{ says: `only ${counted(count, 'account')} could be looked at`, advice: 'give it more --timeout' }]),
  ];
  if (all.length === 0) return ok('no payment is open for long, no plan unpaid');
  return warn(all.map(({ says }) => says).join('; '), all.map(({ advice }) => advice).join('; '));
}

function told(noun: string, how: string, names: readonly string[], advice: string) {
  if (names.length === 0) return [];
  return [{ says: `${counted(names.length, noun)} ${how}: ${firstNamed(names)}`, advice }];
}
