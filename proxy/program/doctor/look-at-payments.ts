import { connect } from 'node:net';
import { readStripeSecrets } from '../configuration/read-payments.ts';
import { type Examined, type Finding, type Found, lackingHere, looked, ok, warn } from './finding.ts';

/** Who takes the money, and whether what is needed for it is here. Nothing is sent to anybody. */
export const lookAtPayments = ({ configuration, context, isServed, timeMs }: Examined): Promise<Finding> =>
  looked(timeMs, {
    check: 'payments',
    advice: null,
    look: () => {
      const { payments } = configuration;
      if (payments.provider === 'manual') return ok('manual: an operator says what was paid');
      const faults: string[] = [];
      const { secretKey } = readStripeSecrets(payments.stripe, context.environment, faults);
      if (faults.length > 0) return lackingHere(faults, { isServed });
      const { baseUrl, places } = payments.stripe;
      const { serve } = configuration.metrics;
      const says = `stripe, ${secretKey.includes('_live_') ? 'for real money' : 'in test mode'}, at ${new URL(baseUrl).host}`;
      if (places.webhookSecrets.length > 0)
        return ok(`${says}; webhooks are heard at ${serve?.host}:${serve?.port}/webhooks/stripe`);
      return warn(
        `${says}; without webhooks`,
        'refunds and disputes are not heard of: name the secret of an endpoint in payments.stripe.webhookSecrets',
      );
    },
  });

/** Whether a connection to who takes the money comes to be. Nothing is sent. */
export async function lookAtProvider({ configuration: { payments }, timeMs }: Examined): Promise<Finding[]> {
  if (payments.provider === 'manual') return [];
  const { hostname, port, protocol, host } = new URL(payments.stripe.baseUrl);
  const found = await looked(timeMs, {
    check: 'payment provider',
    advice: 'look at the way to it (name, proxy, firewall): while it is away nobody can pay',
    look: (signal) =>
      new Promise<Found>((resolve, reject) => {
        const socket = connect({
          host: hostname.replace(/^\[|\]$/g, ''),
          port: Number(port) || (protocol === 'http:' ? 80 : 443),
          signal,
        });
        socket.once('error', reject);
        socket.once('connect', () => {
          socket.destroy();
          resolve(ok(`${host} can be reached`));
        });
      }),
  });
  return [found];
}
