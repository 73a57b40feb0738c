import { isIPv4, isIPv6, SocketAddress } from 'node:net';

/** What a proxy says in place of an address, or an address with something behind it: all of it is one source. */
const UNKNOWN = 'unknown';
const MAPPED = '::ffff:';
const GROUPS = 8;
const GROUPS_OF_NETWORK = 4;

/** IPv4 as it is, IPv6 by 64 bits: who has one address has the network. Some proxies write the port behind it. */
export function sourceOf(said: string): string {
  const address = withoutPort(said.trim());
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return UNKNOWN;
  const canonical = new SocketAddress({ address: address.split('%', 1)[0] ?? '', family: 'ipv6' }).address;
  if (canonical.startsWith(MAPPED) && isIPv4(canonical.slice(MAPPED.length))) return canonical.slice(MAPPED.length);
  return networkOf(canonical);
}

function withoutPort(address: string): string {
  const bracketed = /^\[(.*)\](?::\d+)?$/.exec(address)?.[1];
  return bracketed ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(address)?.[1] ?? address;
}

/** "2001:db8::1" is "2001:db8:0:0::/64". */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, GROUPS - before.length - after.length)).fill('0');
  return `${[...before, ...zeros, ...after].slice(0, GROUPS_OF_NETWORK).join(':')}::/64`;
}
