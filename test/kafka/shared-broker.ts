import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fetchedKafka } from './fetched-kafka.ts';
import { type RealBrokers, startRealBrokers } from './real-brokers.ts';

/** Names the place where a run's test files ask for its broker. */
const PLACE = 'GATEWAY_TEST_BROKER';

/**
 * One real broker for all test files of a run, for starting one costs seconds. It is started when the first file asks, and
 * ends with the run. Where Kafka was not fetched there is no place to ask.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (fetchedKafka() === null) return undefined;
  let started: Promise<RealBrokers | null> | null = null;
  const server = createServer((_request, response) => {
    started ??= startRealBrokers(1);
    started.then(
      (cluster) => response.end(JSON.stringify(cluster?.brokers)),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.env[PLACE] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.closeAllConnections();
    server.close();
    const cluster = await started?.catch(() => null);
    await cluster?.stop();
  };
}

/** The run's broker, host:port; null outside a run, or where Kafka was not fetched. @throws Error where it does not start */
export async function sharedBroker(environment: NodeJS.ProcessEnv): Promise<string[] | null> {
  const place = environment[PLACE];
  if (place === undefined) return null;
  const response = await fetch(place);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return JSON.parse(text) as string[];
}
