import { expect, it } from 'vitest';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { BASE_FORMS, formsBeyond, OWN_FORMS } from '../../contracts/event-forms.ts';
import { commandId, NO_STREAM, proxyId, proxyStream, relayStream } from '../../contracts/ids.ts';
import { RelayClaim } from '../../ledger/relay/relay-claim.ts';
import { readRelayState } from '../../ledger/relay/relay-state.ts';
import { EXIT } from '../../proxy/program/command-error.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';

const FORMS = ['ledger', 'forms'] as const;

it('gateway ledger forms shows who reads what, and adopts nothing where nothing is to be written', async () => {
  const program = endedLater(await programInProcess());
  const proxy = proxyId('prx_before');
  const claimedAt = '2026-11-05T10:20:31.001Z';
  const recording = {
    commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'),
    actor: proxy,
    recordedAt: claimedAt,
  };
  const data = { proxy, epoch: 7, instance: 'x', claimedAt };
  await program.log.append(proxyStream(proxy), NO_STREAM, encodeEvents([{ type: 'ProxyClaimed', data }], recording));
  expect(await program.json(...FORMS)).toEqual({
    adopted: {},
    own: formsBeyond(OWN_FORMS, BASE_FORMS),
    toAdopt: {},
    claims: [{ proxy, epoch: 7, claimedAt, reads: {}, lacks: {} }],
    inTheWay: [],
  });
  expect(await program.run(...FORMS, '--adopt')).toMatch(/^to be adopted: nothing$/m);
  expect((await Array.fromAsync(program.log.readAll())).map(({ type }) => type)).toEqual(['ProxyClaimed']);
});

it('gateway ledger forms shows the relay of the configured topic, while its claim lasts', async () => {
  const program = endedLater(await programInProcess());
  const feed = {
    log: program.log,
    feed: 'ledger',
    relay: 'one',
    claimMs: 60_000,
    signal: new AbortController().signal,
  };
  const state = await readRelayState(program.log, relayStream('ledger'));
  const claim = await RelayClaim.take({ ...feed, clock: () => program.clock() }, state);
  expect(await program.json(...FORMS)).toMatchObject({
    claims: [{ proxy: 'relay of ledger', epoch: 1, reads: formsBeyond(OWN_FORMS, BASE_FORMS), lacks: {} }],
  });
  await claim?.release();
  expect(await program.json(...FORMS)).toMatchObject({ claims: [] });
});

it('gateway ledger forms leaves out only proxies that there are, and only to adopt', async () => {
  const program = endedLater(await programInProcess());
  await expect(program.run(...FORMS, '--gone', 'prx_a')).rejects.toMatchObject({ exitCode: EXIT.usage });
  await expect(program.run(...FORMS, '--adopt', '--gone', 'prx_a')).rejects.toMatchObject({
    exitCode: EXIT.refused,
    message: 'prx_a: there is no live claim of such a proxy',
  });
});
