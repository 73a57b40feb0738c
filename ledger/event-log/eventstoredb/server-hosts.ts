/**
 * The hosts of a connection string, each with its port where it says one, without credentials; none where it is none. Loads
 * nothing of the client, for whoever only says where the log is.
 */
export const serverHosts = (connectionString: string): readonly string[] =>
  (authorityOf(connectionString).split('@').at(-1) ?? '')
    .split('/', 1)
    .flatMap((hosts) => hosts.split(','))
    .filter((host) => HOST.test(host));

/** Anything else may be a part of a password. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?$/i;

/** What stands between the scheme and the settings: credentials and hosts. */
export function authorityOf(connectionString: string): string {
  const [authority = ''] = connectionString
    .trim()
    .replace(/^[^:]*:\/*/, '')
    .split('?');
  return authority;
}
