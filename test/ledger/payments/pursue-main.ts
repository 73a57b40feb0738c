import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { paymentId } from '../../../contracts/ids.ts';
import { catchUpAccount } from '../../../ledger/account/account-repository.ts';
import { openSqliteEventLog } from '../../../ledger/event-log/sqlite/sqlite-event-log.ts';
import { pursuePayments } from '../../../ledger/payments/pursue-payments.ts';
import { AccountViews } from '../../../projections/account-views.ts';
import { ACCOUNT } from '../../fixtures/ledger/example-account.ts';
import { catalogOf, STARTER } from '../../fixtures/ledger/example-plan-events.ts';

/**
 * Looks after the payments of the example's account once, and is killed (`kill -9`) at an instant, such as `before the charge`. Its
 * bank is a file with a line for each charge, once for a key.
 */
const [data = '', killedAt = ''] = process.argv.slice(2);
const log = await openSqliteEventLog({ path: join(data, 'ledger.db') });
const bank = join(data, 'bank');
const accounts = new AccountViews();
await catchUpAccount(log, accounts, ACCOUNT);
await pursuePayments(ACCOUNT, {
  accounts,
  log: Object.assign(Object.create(log), {
    append: async (...[stream, at, events]: Parameters<typeof log.append>) => {
      end(`before ${events[0]?.type}`);
      const result = await log.append(stream, at, events);
      end(`after ${events[0]?.type}`);
      return result;
    },
    readStream: log.readStream.bind(log),
  }),
  provider: {
    name: 'stripe',
    ask: async ({ attempt: { attemptId: key, price: amount, startedAtMs: paidAtMs } }) => {
      end('before the charge');
      const charged = existsSync(bank) ? readFileSync(bank, 'utf8').split('\n') : [];
      if (!charged.includes(key)) appendFileSync(bank, `${key}\n`);
      end('after the charge');
      return { type: 'paid', paymentId: paymentId(`pi_${key}`), amount, paidAtMs };
    },
    withdraw: async ({ attempt }) => Promise.reject(new Error(`${attempt.attemptId} is wanted`)),
  },
  clock: Date.now,
  catalog: () => catalogOf(STARTER),
  asksOpen: true,
  onRefused: () => undefined,
  onMoved: () => undefined,
  onUnknown: (error) => {
    throw error;
  },
});
await log.close();

/** The signal is delivered before anything else is done. */
function end(instant: string): void {
  if (instant !== killedAt) return;
  process.kill(process.pid, 'SIGKILL');
  for (;;);
}
