/** What Prometheus gets of one target: its page, or null where nothing answered. */
export type Page = string | null;

/** What it knows of a target at two instants, between which the target did something. */
export interface Scraped {
  readonly job: 'gateway' | 'relay';
  readonly before: Page;
  readonly after: Page;
  /** Where it was looked at all along: what came between the two, so that all are a step apart, and the last step has the last of them. */
  readonly between?: readonly Page[];
}

/** @throws Error where something else than a page answers */
export async function scrape(url: string | null): Promise<Page> {
  let answer: Response;
  try {
    answer = await fetch(`${url}/metrics`);
  } catch (error) {
    // As undici tells that nobody answers.
    if (error instanceof TypeError && error.message === 'fetch failed') return null;
    throw error;
  }
  if (!answer.ok) throw new Error(`${url}/metrics answered with ${answer.status}`);
  return await answer.text();
}

/** A series as `promtool test rules` takes it. */
export interface InputSeries {
  readonly series: string;
  readonly values: string;
}

/**
 * Each sample as though what happened between the two pages went on happening, once in each of so many steps: what counts
 * goes on counting, and gauges that grew go on growing where they are named; all others stay as they are. Where there are pages
 * between, as it was in each of them instead, and before the first as it was there.
 */
export function seriesOf(scraped: Scraped, steps: number, growing: readonly string[] = []): InputSeries[] {
  const target = `job="${scraped.job}",instance="${scraped.job}:9464"`;
  const isUp = scraped.after === null ? 0 : 1;
  const up = { series: `up{${target}}`, values: line(isUp, 0, steps) };
  const before = valuesIn(scraped.before);
  const { between } = scraped;
  const pages = between === undefined ? null : [before, ...between.map(valuesIn), valuesIn(scraped.after)];
  const all = samplesOf(scraped.after ?? '').map(({ id, name, labels, isCounter, value }) => {
    if (pages !== null) return { series: `${name}{${labels}${target}}`, values: stepwise(pages, id, steps) };
    const step = isCounter || growing.includes(name) ? value - (before.get(id) ?? 0) : 0;
    return { series: `${name}{${labels}${target}}`, values: line(value, step, steps) };
  });
  return [up, ...all];
}

const valuesIn = (page: Page): ReadonlyMap<string, number> =>
  new Map(samplesOf(page ?? '').map(({ id, value }) => [id, value]));

interface Sample {
  readonly id: string;
  readonly name: string;
  /** Each with a comma behind it. */
  readonly labels: string;
  readonly isCounter: boolean;
  readonly value: number;
}

function samplesOf(page: string): Sample[] {
  const counters = new Set<string>();
  const samples: Sample[] = [];
  for (const text of page.split('\n')) {
    const [, family = '', type] = /^# TYPE (\S+) (\w+)/.exec(text) ?? [];
    if (type === 'counter') counters.add(family);
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) counters.add(`${family}_${part}`);
    const [, name = '', labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(text) ?? [];
    if (value === undefined) continue;
    const id = `${name}{${labels}}`;
    const number = Number(value.replace('Inf', 'Infinity'));
    samples.push({ id, name, labels: labels === '' ? '' : `${labels},`, isCounter: counters.has(name), value: number });
  }
  return samples;
}

const line = (from: number, step: number, steps: number): string =>
  Array.from({ length: steps + 1 }, (_, at) => textOf(from + at * step)).join(' ');

/** What was not there yet has no value. */
const stepwise = (pages: readonly ReadonlyMap<string, number>[], id: string, steps: number): string =>
  Array.from({ length: steps + 1 }, (_, at) => {
    const value = pages[Math.max(0, at - steps - 1 + pages.length)]?.get(id);
    return value === undefined ? '_' : textOf(value);
  }).join(' ');

const textOf = (value: number): string => String(value).replace('Infinity', 'Inf');
