import { runSite } from './stripe-site.ts';

/** A site's process, killed (`kill -9`) at an instant, such as `after PaymentSucceeded`. */
const [data = '', url = '', killedAt = '', task = ''] = process.argv.slice(2);
await runSite({
  ...{ data, url, task: JSON.parse(task) },
  at: (instant) => {
    if (instant !== killedAt) return;
    // The signal is delivered before anything else is done.
    process.kill(process.pid, 'SIGKILL');
    for (;;);
  },
});
