import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type Examined, type Finding, looked, ok } from './finding.ts';

/** Whether providers' names have addresses. Nothing is sent to any of them. */
export async function lookAtUpstreams({ configuration, timeMs }: Examined): Promise<Finding[]> {
  const providers = Object.entries(configuration.providers);
  if (providers.length === 0) return [{ check: 'upstreams', ...ok('none but the mock that is built in') }];
  return Promise.all(
    providers.map(([name, { baseUrl }]) =>
      looked(timeMs, {
        check: `upstream ${name}`,
        advice: `look at providers.${name}.baseUrl, or at how this machine resolves names`,
        look: async () => {
          const host = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
          if (isIP(host) !== 0) return ok(`${host} is an address`);
          const addresses = await lookup(host, { all: true });
          return ok(`${host} is ${addresses.map(({ address }) => address).join(', ')}`);
        },
      }),
    ),
  );
}
