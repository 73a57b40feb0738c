import { parseArgs } from 'node:util';
import { startFakeEventStore } from './fake-event-store.ts';
import { StoredLog } from './stored-log.ts';

/**
 * The fake as a process of its own:
 *
 *   node test/eventstoredb/main.ts [--port N] [--file path] [--append-delay-ms N] [--faults JSON]
 *
 * --faults takes what `Faults.byChance` does, as `{"seed":1,"append":{"lose-ack":0.01}}`.
 * Prints one JSON line, `{"connectionString": …, "port": …, "pid": …}`, when it serves. With --file what it has
 * answered for outlives `kill -9`. SIGTERM and SIGINT stop it.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      file: { type: 'string' },
      'append-delay-ms': { type: 'string', default: '0' },
      faults: { type: 'string' },
    },
  });
  const log = new StoredLog(values.file === undefined ? {} : { file: values.file });
  const store = await startFakeEventStore({ port: wholeNumber('--port', values.port), log });
  store.faults.appendDelayMs = wholeNumber('--append-delay-ms', values['append-delay-ms']);
  if (values.faults !== undefined) store.faults.byChance(JSON.parse(values.faults));
  const { connectionString, port } = store;
  process.stdout.write(`${JSON.stringify({ connectionString, port, pid: process.pid })}\n`);
  const stop = async (): Promise<void> => {
    await store.stop();
    log.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop());
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${option} is a whole number, not "${text}"`);
  return value;
}

await main();
