/**
 * The hosts of a connection string, each with its port where it says one, without credentials; none where it is none. Loads
 * nothing of the client, for whoever only says where the log is.
 */
export const serverHosts = (connectionString: string): readonly string[] =>
  (partsOf(connectionString).authority.split('@').at(-1) ?? '')
    .split('/', 1)
    .flatMap((hosts) => hosts.split(','))
    .filter((host) => HOST.test(host));

/** Anything else may be a part of a password. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?$/i;

interface ConnectionStringParts {
  /** With its colon and slashes. */
  readonly scheme: string;
  /** Credentials and hosts. */
  readonly authority: string;
  /** From the ? on; empty where there are none. */
  readonly options: string;
}

/** As the client reads them: a ? before the @ of credentials is their own. But it would look for the host of `esdb://host/?…` as `host/`. */
export function partsOf(connectionString: string): ConnectionStringParts {
  const { scheme = '', authority = '', options = '' } = PARTS.exec(connectionString.trim())?.groups ?? {};
  return { scheme, authority: authority.replace(/\/+$/, ''), options: options.replace(/\/+$/, '') };
}

const PARTS = /^(?<scheme>[^:]*:\/*)?(?<authority>(?:[^:]+:[^@]+@)?[^?]*)(?<options>.*)$/s;
