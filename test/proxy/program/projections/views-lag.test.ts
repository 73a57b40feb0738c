import { expect, it } from 'vitest';
import { accountId } from '../../../../contracts/ids.ts';
import { readFoldedThrough } from '../../../../projections/known-views.ts';
import { TopicViewSource } from '../../../../projections/sources/topic-view-source.ts';
import { howFar } from '../../../../proxy/program/projections/views-lag.ts';
import type { LogWithOutages } from '../../../fixtures/ledger/log-with-outages.ts';
import { inTurnsThroughout, passing, turns } from '../../../fixtures/ledger/turns.ts';
import { viewsFile, writeTo } from '../../../projections/example-ledger.ts';
import { exampleLog, LEDGER, published, TOPIC } from '../../../projections/example-log.ts';
import { MemoryTopic } from '../../../projections/memory-topic.ts';
import { startedViews } from '../../../projections/started-views.ts';

inTurnsThroughout();

/** Of the last event, or of one of the last. */
const head = ({ inner }: LogWithOutages, at = -1) => inner.events.at(at)?.position;

/** Views that a topic feeds, until they have taken what is in it. */
async function fed(log: LogWithOutages, path: string, topic: MemoryTopic): Promise<void> {
  const source = new TopicViewSource({
    ...{ topic: TOPIC, open: topic.open, log, ledger: Promise.resolve(LEDGER) },
    ...{ place: { where: 'ledger.db', looks: 1 }, doubtful: 'warn' },
  });
  const { projections, stopped } = await startedViews({ log, path, source }, passing);
  await turns(200);
  await passing(projections.close());
  expect(stopped).toEqual([]);
}

const lookedAt = (log: LogWithOutages, path: string) => {
  const folded = readFoldedThrough(path);
  if (folded === null) throw new Error('no views');
  return howFar(log, path, folded);
};

it('views that a topic feeds are as far as their rows hold the log, whatever was compared with it', async () => {
  const [log, topic, path] = [exampleLog(), new MemoryTopic(3), viewsFile()];
  const events = published(log);
  const missing = events.slice(-7);
  topic.send(events.slice(0, -7));
  await fed(log, path, topic);
  expect(readFoldedThrough(path)?.position ?? null).toBeNull();
  const [first] = missing;
  if (first === undefined) throw new Error('nothing is missing');
  expect(await lookedAt(log, path)).toEqual({
    position: head(log, log.inner.events.indexOf(first) - 1),
    lag: { events: missing.length, sinceMs: Date.UTC(2026, 10, 5, 10) },
  });
  topic.send(missing);
  await fed(log, path, topic);
  expect(await lookedAt(log, path)).toEqual({ position: head(log), lag: { events: 0, sinceMs: null } });
  writeTo(log.inner, accountId('a1'), [{ type: 'PlanChanged', data: { plan: 'team', terms: null } }]);
  expect(await lookedAt(log, path)).toMatchObject({ position: head(log, -2), lag: { events: 1 } });
});

it('what waits in the ledger because its account is set aside is not lacking', async () => {
  const [log, topic, path] = [exampleLog(), new MemoryTopic(3), viewsFile()];
  const A = accountId('a0');
  const twice = { keyId: 'key_none', revokedAt: '2026-11-05T10:00:00.000Z' };
  writeTo(log.inner, A, [{ type: 'ApiKeyRevoked', data: twice as never }]);
  topic.send(published(log));
  await fed(log, path, topic);
  expect(await lookedAt(log, path)).toEqual({ position: head(log), lag: { events: 0, sinceMs: null } });
});
