import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it } from 'vitest';
import { encodeEvents } from '../../../../contracts/event-codec.ts';
import { accountId, accountStream, NO_STREAM } from '../../../../contracts/ids.ts';
import { recordingBy } from '../../../../ledger/recording-by.ts';
import { keyOfFolder, sealKeyFile } from '../../../../ledger/seals/seal-keys.ts';
import { readConfiguration } from '../../../../proxy/program/configuration/read-configuration.ts';
import { gatewaySealer, sealStatus } from '../../../../proxy/program/serve/gateway-sealer.ts';
import { endedLater } from '../../../fixtures/ended-later.ts';
import { exampleOf } from '../../../fixtures/ledger/example-events.ts';
import { sealLog } from '../../../fixtures/ledger/seal-log.ts';
import { temporaryFolder } from '../../../fixtures/temporary-folder.ts';
import { newLog } from '../../../ledger/seals/sealer-scene.ts';

it.each([
  ['in its data folder', false, ''],
  ['that its configuration names', true, ' --key-file FILE'],
])(
  'a gateway with a stranger’s key %s names the command for its own ledger, wherever it is typed',
  async (_, isNamed, named) => {
    const [data, another, log] = [temporaryFolder(), temporaryFolder(), await newLog()];
    await sealLog(log, another);
    const stream = accountStream(accountId('acct_a'));
    await log.append(stream, NO_STREAM, encodeEvents([exampleOf('AccountOpened')], recordingBy('test', Date.now())));
    keyOfFolder(data);
    const file = join(temporaryFolder(), 'gateway.json');
    const seals = { afterMs: 1, ...(isNamed ? { keyFile: sealKeyFile(data) } : {}) };
    writeFileSync(file, JSON.stringify({ data, seals }));
    const configuration = readConfiguration({ file, data: undefined, environment: {}, callsProviders: false });
    const logger = pino({ level: 'silent' });
    const sealer = gatewaySealer({ configuration, log, clock: Date.now, logger }, { refuse: () => null });
    if (sealer === null) throw new Error('there is no key');
    endedLater(sealer).start();
    const lost = `where that is lost, \`gateway ledger keys rotate --lost${named} --config ${file} --data ${data}\``;
    await expect.poll(() => sealStatus(sealer)).toMatchObject({ ok: false, reason: expect.stringContaining(lost) });
  },
);
