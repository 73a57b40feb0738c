/**
 * What the stream meter costs for each event, against JSON.parse of each event in the same run. Run it by itself:
 * `node test/proxy/meter/throughput.ts`. It takes a few seconds and ends.
 */

import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { deltaEvent, messageStream } from './streams.ts';

const EVENTS = 100;
const ROUNDS = 5;
const NS_PER_MS = 1e6;
const ROUND_NS = 150 * NS_PER_MS;

const words = 'the error of lorem ipsum dolor sit amet message consectetur adipiscing elit sed do eiusmod tempor'.split(
  ' ',
);
const deltas = Array.from({ length: EVENTS }, (_, index) => deltaEvent(` ${words[index % words.length]} ${index}`));
const stream = messageStream(deltas);
const burst = Buffer.from(deltas.join(''));
const single = deltas.map((event) => Buffer.from(event));
const bytes = Array.from(burst, (_, index) => burst.subarray(index, index + 1));
const withCr = Buffer.from(deltas.join('').replaceAll('\n', '\r\n'));
const whole = Buffer.from(stream);
const wholeEvents = stream.split('\n\n').length - 1;

const contenders: Record<string, { readonly events: number; readonly run: () => void }> = {
  'JSON.parse of every event, burst': { events: EVENTS, run: () => parseEvery(burst) },
  'meter, 100 deltas a chunk': { events: EVENTS, run: () => feed([burst]) },
  'meter, a whole stream of 106 events a chunk': { events: wholeEvents, run: () => feed([whole]) },
  'meter, one delta a chunk': { events: EVENTS, run: () => feed(single) },
  'meter, one byte a chunk': { events: EVENTS, run: () => feed(bytes) },
  'meter, 100 deltas a chunk, CRLF': { events: EVENTS, run: () => feed([withCr]) },
};

const best = new Map<string, number>();
for (let round = 0; round < ROUNDS; round++)
  for (const [name, { events, run }] of Object.entries(contenders))
    best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, nsPerRun(run) / events));

console.log(`${Math.round(burst.length / EVENTS)} bytes an event; best of ${ROUNDS} rounds`);
for (const [name, ns] of best) console.log(`${name.padEnd(46)} ${ns.toFixed(0).padStart(7)} ns/event`);

function nsPerRun(run: () => void): number {
  const start = process.hrtime.bigint();
  let runs = 0;
  let elapsedNs = 0;
  for (; elapsedNs < ROUND_NS; runs++) {
    run();
    elapsedNs = Number(process.hrtime.bigint() - start);
  }
  return elapsedNs / runs;
}

function feed(chunks: readonly Buffer[]): void {
  const meter = new StreamMeter(NO_SECRETS);
  for (const chunk of chunks) meter.push(chunk);
}

function parseEvery(chunk: Buffer): void {
  for (const event of chunk.toString('utf8').split('\n\n')) {
    const data = event.indexOf('data: ');
    if (data !== -1) JSON.parse(event.slice(data + 'data: '.length));
  }
}
