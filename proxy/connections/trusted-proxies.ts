import { BlockList, isIP } from 'node:net';

/** The proxies whose word is taken for where a request comes from: addresses and ranges, of IPv4 or IPv6. */
export class TrustedProxies {
  readonly #list = new BlockList();

  /** @param ranges such as "10.0.0.0/8" or "::1"; the configuration has checked them */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      const family = familyOf(address);
      if (bits === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, Number(bits), family);
    }
  }

  /** What is no address is nobody's. IPv4 within IPv6 ("::ffff:10.0.0.1") is that IPv4. */
  has(address: string): boolean {
    return isIP(address) !== 0 && this.#list.check(address, familyOf(address));
  }
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');
