import { describe, expect, it } from 'vitest';
import { SourceBound } from '../../../proxy/connections/source-bound.ts';
import { sourceOf } from '../../../proxy/connections/source-of.ts';
import { TrustedProxies } from '../../../proxy/connections/trusted-proxies.ts';

it.each([
  ['192.0.2.7', '192.0.2.7'],
  [' 192.0.2.7 ', '192.0.2.7'],
  ['192.0.2.7:5100', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
  ['_hidden', 'unknown'],
  ['', 'unknown'],
  ['192.0.2.7, 192.0.2.8', 'unknown'],
  ['x'.repeat(10_000), 'unknown'],
])('the source that an address is counted by of %j is %j', (address, source) => {
  expect(sourceOf(address)).toBe(source);
});

describe('trusted proxies', () => {
  const proxies = new TrustedProxies(['127.0.0.0/8', '::1', '10.1.0.0/16', '2001:db8::/32']);

  it.each(['127.0.0.1', '127.9.9.9', '::1', '10.1.200.3', '::ffff:10.1.0.1', '2001:db8:ffff::1'])(
    'have %s',
    (address) => {
      expect(proxies.has(address)).toBe(true);
    },
  );

  it.each(['10.2.0.1', '128.0.0.1', '::2', '2001:db9::1', '::ffff:10.2.0.1', '', 'unknown', '127.0.0.1:80'])(
    'have not %j',
    (address) => {
      expect(proxies.has(address)).toBe(false);
    },
  );
});

it('a bound of each source has room again for each that is given back, and forgets who has none', () => {
  const bound = new SourceBound(2);
  expect([bound.take('a'), bound.take('a'), bound.take('a'), bound.take('b')]).toEqual([true, true, false, true]);
  bound.give('a');
  expect(bound.take('a')).toBe(true);
  for (const source of ['a', 'a', 'b']) bound.give(source);
  expect(bound.size).toBe(0);
});
