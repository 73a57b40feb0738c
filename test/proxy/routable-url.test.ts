import { expect, it } from 'vitest';
import { routableUrl } from '../../proxy/routable-url.ts';

it.each([
  ['/', '/'],
  ['/v1/models/a%20b?x=%', '/v1/models/a%20b?x=%'],
  ['/a%25', '/a%25'],
  ['/%', '/no-path'],
  ['/%C3%28', '/no-path'],
  ['*', '/no-path'],
  ['', '/no-path'],
  ['http://', '/no-path'],
  ['ftp://gateway/me', '/no-path'],
  ['http://gateway', '/'],
  ['HTTPS://gateway:1?x', '/?x'],
  ['http://user@gateway/me?x#y', '/me?x#y'],
  ['http://gateway/%', '/no-path'],
])('%s is routed as %s', (target, url) => {
  expect(routableUrl(target)).toBe(url);
});

it('costs nothing for a host that is long, and would be longer in ASCII', () => {
  const distinct = Array.from({ length: 3_000 }, (_, index) =>
    encodeURIComponent(String.fromCodePoint(0x4e00 + index)),
  );
  const target = `http://${'a'.repeat(4_900)}${distinct.join('')}/me`;
  const before = process.cpuUsage();
  for (let round = 0; round < 200; round++) expect(routableUrl(target)).toBe('/me');
  const { user, system } = process.cpuUsage(before);
  // By parsing the host it would be some ten seconds.
  expect((user + system) / 1_000).toBeLessThan(2_000);
});
