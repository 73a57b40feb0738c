import Table from 'cli-table3';
import { median } from '../load/latencies.ts';
import type { FeedCodec, FeedResult, FeedWriter } from './feed-protocol.ts';

/** What one process did in one round. */
export interface FeedSample extends FeedResult {
  readonly what: string;
  readonly round: number;
  /** Cores that everything else on the machine took, the brokers among it. */
  readonly othersShare: number;
}

interface FeedFigure {
  readonly what: string;
  readonly eventsPerS: number;
  readonly cpuUsPerEvent: number;
  readonly eventsPerBatch: number;
}

/** The relay's events/s to the driver's, by codec, and the time that views from the topic take to that from the log. */
export interface FeedFigures {
  readonly figures: readonly FeedFigure[];
  readonly relayToDriver: Readonly<Partial<Record<FeedCodec, number>>>;
  readonly topicToLog: number | null;
}

/** Medians over the rounds; the ratios are medians of those within each round, in which both were measured in turn. */
export function feedFigures(samples: readonly FeedSample[]): FeedFigures {
  const figures = [...Map.groupBy(samples, ({ what }) => what)].map(([what, ofWhat]) => ({
    what,
    eventsPerS: median(ofWhat.map(({ events, seconds }) => events / seconds)),
    cpuUsPerEvent: median(ofWhat.map(({ cpuUs, events }) => cpuUs / events)),
    eventsPerBatch: median(ofWhat.map(({ events, batches }) => (batches === 0 ? 0 : events / batches))),
  }));
  const rate = (sample: FeedSample): number => sample.events / sample.seconds;
  const name = (writer: FeedWriter, codec: FeedCodec): string => `${writer}, ${codec}`;
  const toDriver = (codec: FeedCodec): Partial<Record<FeedCodec, number>> => {
    const ratio = ratioOf(samples, name('relay', codec), name('kafkajs', codec), rate);
    return ratio === null ? {} : { [codec]: ratio };
  };
  return {
    figures,
    relayToDriver: { ...toDriver('gzip'), ...toDriver('zstd') },
    topicToLog: ratioOf(samples, 'views from the topic', 'views from the log', ({ seconds }) => seconds),
  };
}

function ratioOf(
  samples: readonly FeedSample[],
  above: string,
  below: string,
  value: (sample: FeedSample) => number,
): number | null {
  const ratios = [...Map.groupBy(samples, ({ round }) => round).values()].flatMap((ofRound) => {
    const [over, under] = [above, below].map((what) => ofRound.find((sample) => sample.what === what));
    return over === undefined || under === undefined ? [] : [value(over) / value(under)];
  });
  return ratios.length === 0 ? null : median(ratios);
}

export function feedReport({ figures, relayToDriver, topicToLog }: FeedFigures): string {
  const head = ['what', 'events/s', 'CPU µs/event', 'events a send'];
  const table = new Table({ head, style: { head: [], border: [], compact: true } });
  for (const { what, eventsPerS, cpuUsPerEvent, eventsPerBatch } of figures)
    table.push([
      what,
      eventsPerS.toFixed(0),
      cpuUsPerEvent.toFixed(1),
      eventsPerBatch === 0 ? '' : eventsPerBatch.toFixed(0),
    ]);
  const ratios = Object.entries(relayToDriver).map(([codec, ratio]) => `${codec} ${ratio.toFixed(2)}x`);
  const views = topicToLog === null ? '' : `; views from the topic take ${topicToLog.toFixed(2)}x those from the log`;
  return `feed: the relay to kafkajs alone, events/s: ${ratios.join(', ')}${views}\n${table.toString()}\n`;
}
