import { expect, it } from 'vitest';
import { accountStream, eventId } from '../../contracts/ids.ts';
import { endedLater } from '../fixtures/ended-later.ts';
import { account, settlementScene } from '../fixtures/ledger/settlement-scene.ts';
import { newId } from '../fixtures/ledger/shared-log.ts';
import { programInProcess } from '../fixtures/processes/program-in-process.ts';

const RECORDED = JSON.stringify({
  ...{ schemaVersion: 1, commandId: 'c', actor: 'someone', recordedAt: '2026-11-05T10:20:31.001Z' },
});

/** An account of three events, two that others have written in no form of ours, and one that can be read. */
async function spoiltStream() {
  const { log } = await settlementScene(1);
  const write = (type: string, data: string, metadata: string): void =>
    log.write(accountStream(account(0)), [{ id: eventId(newId()), type, data, metadata }]);
  write('OrderPlaced', '{"items":\n2}', '{}');
  write('Blob', '\u0000\u001b[2J', 'no JSON');
  write('OrderShipped', '{}', RECORDED);
  return endedLater(await programInProcess(log));
}

it('an event whose metadata cannot be read is one clear line among the others, with what it holds made visible', async () => {
  const program = await spoiltStream();
  const lines = (await program.run('ledger', 'events', account(0))).split('\n');
  expect(lines.slice(6)).toEqual([
    expect.stringMatching(/^ {5}3 {2}cannot be read: account-a0 revision 3 \(OrderPlaced\): .*schemaVersion/),
    '        {"items":\\u000a2}',
    expect.stringMatching(/^ {5}4 {2}cannot be read: account-a0 revision 4 \(Blob\): /),
    '        \\u0000\\u001b[2J',
    '     5  2026-11-05T10:20:31.001Z  OrderShipped  (someone)',
    '        {}',
    '',
  ]);
});

it('with --json each event is one line of JSON, its bytes a string where they would not be on one line, or are no JSON', async () => {
  const program = await spoiltStream();
  const lines = (await program.run('--json', 'ledger', 'events', account(0))).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line)).slice(3)).toMatchObject([
    { revision: 3, type: 'OrderPlaced', data: '{"items":\n2}', metadata: {} },
    { revision: 4, type: 'Blob', data: '\u0000\u001b[2J', metadata: 'no JSON' },
    { revision: 5, type: 'OrderShipped', metadata: JSON.parse(RECORDED) },
  ]);
});
