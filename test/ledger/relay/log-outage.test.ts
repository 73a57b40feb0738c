import { pino } from 'pino';
import { expect, it } from 'vitest';
import { EventLogError } from '../../../contracts/event-log.ts';
import { CATALOG_STREAM } from '../../../contracts/ids.ts';
import { LogWithOutages } from '../../fixtures/ledger/log-with-outages.ts';
import { eventually } from '../../kafka/eventually.ts';
import { proposed } from './ledger-file.ts';
import { MemoryPublisher } from './memory-publisher.ts';
import { identifiedLog, relayInMemory } from './relay-in-memory.ts';

const TRYING = 'the event log does not answer; trying again';
const LOST = 'the event log is lost from sight; resuming';
const BACK = 'the event log answers again';

it('a relay says once that its log is away, once for each further reason, and that it is back, on standby and later', async () => {
  const log = new LogWithOutages(await identifiedLog());
  const publisher = new MemoryPublisher();
  const [told, repeated] = [[] as string[], [] as string[]];
  let isStandingBy = false;
  const write = (line: string): void => {
    const { level, msg, reason } = JSON.parse(line);
    if (msg.startsWith('standing by')) isStandingBy = true;
    if (![TRYING, LOST, BACK].includes(msg)) return;
    (level === 20 ? repeated : told).push(reason === undefined ? msg : `${msg}: ${reason}`);
  };
  const active = relayInMemory(log.inner, publisher);
  const publish = async (): Promise<void> => {
    const events = proposed(1);
    log.inner.write(CATALOG_STREAM, events);
    const isPublished = () => publisher.messages.some(({ headers }) => headers.ce_id === events[0]?.id);
    await eventually('it is published', isPublished);
  };
  await publish();
  const logger = pino({ level: 'debug' }, { write });
  const { ended, stop } = relayInMemory(log.inner, publisher, { log, logger, relay: 'standby' });
  await eventually('it stands by', () => isStandingBy);
  await log.goAway();
  await eventually('it has tried again', () => repeated.length > 0);
  log.comeBack();
  await eventually('it is back', () => told.includes(BACK));
  active.stop();
  await active.ended;
  await publish();
  expect(told.splice(0)).toEqual([`${TRYING}: the log is away`, BACK]);
  expect(new Set(repeated.splice(0))).toEqual(new Set([`${TRYING}: the log is away`]));

  for (let outage = 1; outage <= 2; outage++) {
    for (const reason of ['connect 127.0.0.1:2113', 'connect 127.0.0.2:2114', 'no answer for 10 s']) {
      log.fault = new EventLogError('unavailable', reason);
      await log.goAway();
    }
    log.comeBack();
    await publish();
    expect(told.splice(0)).toEqual([`${LOST}: connect 127.0.0.1:2113`, `${LOST}: no answer for 10 s`, BACK]);
    expect(repeated.splice(0)).toEqual([`${LOST}: connect 127.0.0.2:2114`]);
  }
  stop();
  expect(await ended).toBeNull();
});
