import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { ListenError, listenAt, listenWith, type Place, proveListenable } from '../../../proxy/program/listening.ts';

const PLACE: Place = { host: '127.0.0.1', port: 80, hostSetting: 'the.host', portSetting: 'the.port' };

it.each([
  ['EADDRINUSE', PLACE, '127.0.0.1:80 is taken; choose another port with the.port', false],
  ['EADDRINUSE', { ...PLACE, host: '::1' }, '[::1]:80 is taken; choose another port with the.port', false],
  [
    'EACCES',
    PLACE,
    '127.0.0.1:80 may not be listened at by whoever runs this; choose another port with the.port',
    false,
  ],
  ['EADDRNOTAVAIL', PLACE, '127.0.0.1 is no address of this machine; choose another with the.host', true],
  ['ENOTFOUND', PLACE, '127.0.0.1 is no address, and no name that is known; choose another with the.host', true],
  [
    'EMFILE',
    PLACE,
    'nothing can listen at 127.0.0.1:80 (told by the system); choose another with the.host or the.port',
    false,
  ],
] as const)('%s is told in one line: where, why, and what to change', async (code, place, message, isWrongPlace) => {
  const cause = Object.assign(new Error('told by the system'), { code });
  const told = await listenAt(place, () => Promise.reject(cause)).catch((error: unknown) => error);
  expect(told).toBeInstanceOf(ListenError);
  expect(told).toMatchObject({ message, isWrongPlace, cause });
});

it('what can be listened at is free again when it has been looked at, and what cannot keeps the rest free, too', async () => {
  const server = createServer();
  onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  await listenWith(server, '127.0.0.1', 0);
  const taken = { ...PLACE, port: (server.address() as AddressInfo).port };
  const free = { ...PLACE, port: 0 };
  await proveListenable([free, free]);
  await expect(proveListenable([free, taken])).rejects.toThrow(/ is taken; /);
  const twice = createServer();
  await listenWith(twice, '127.0.0.1', 0);
  const { port } = twice.address() as AddressInfo;
  await new Promise((resolve) => twice.close(resolve));
  await expect(proveListenable([{ ...PLACE, port }, taken])).rejects.toThrow(`${taken.port} is taken`);
  await proveListenable([{ ...PLACE, port }]);
  await expect(
    proveListenable([
      { ...PLACE, port },
      { ...PLACE, port },
    ]),
  ).rejects.toThrow(`${port} is taken`);
});
