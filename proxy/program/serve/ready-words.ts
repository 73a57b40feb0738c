import type { Configuration } from '../../../contracts/configuration.ts';
import { groupedUsd } from '../../../contracts/money.ts';
import { nextCommand, type StartedWith } from '../next-command.ts';
import type { CatalogNotice } from './catalog-at-start.ts';
import type { DemoAccount } from './first-run.ts';

interface FirstWords {
  /** Where the ledger is that this start has begun; null where there was one. */
  readonly begun: string | null;
  readonly demo: DemoAccount | null;
  /** Null where the catalog in force is the configured one. */
  readonly catalog: CatalogNotice | null;
}

/** For people, who are told which command is next. */
interface BannerWords extends FirstWords {
  readonly startedWith: StartedWith;
}

/** What a start says once requests are admitted. */
export function banner(url: string, configuration: Configuration, words: BannerWords): string {
  const { begun, demo, catalog, startedWith } = words;
  const next = (...command: readonly string[]): string =>
    `npm run ${nextCommand(startedWith, 'gateway', '--', ...command)}`;
  const begins = begun === null ? '' : `a new ledger was begun: ${begun}\n`;
  const sold = catalog === null ? '' : `${catalog.message}\n`;
  const where = `model gateway ready at ${url}\ndata: ${configuration.data}\n${begins}${sold}`;
  if (demo === null) return `${where}\n`;
  if (demo.key === null)
    return `${where}
Nothing has been asked yet with the key of the demo account, ${demo.accountId}. It is not shown again; for another:

  ${next('key', 'issue', demo.accountId)}

`;
  return `${where}
A demo account, ${demo.accountId}, is open with ${groupedUsd(configuration.trialUsd)} USD of trial credits for 30 days.
Its key is shown this once:

  ${demo.key}

Try it:

  curl -N ${url}/v1/messages -H 'x-api-key: ${demo.key}' -H 'content-type: application/json' \\
    -d '{"model":"svc-mock","max_tokens":256,"stream":true,"messages":[{"role":"user","content":"hello"}]}'

Or with an SDK (npm install @anthropic-ai/sdk):

  import Anthropic from '@anthropic-ai/sdk';
  const client = new Anthropic({ baseURL: '${url}', apiKey: '${demo.key}' });
  const message = await client.messages.create({
    model: 'opal-medium', max_tokens: 256, messages: [{ role: 'user', content: 'hello' }],
  });

svc-mock is free; the other models of the example catalog answer from the same mock and are billed like real ones:

  ${next('account', 'show', demo.accountId)}
  ${next('ledger', 'events', demo.accountId)}

A real upstream: put its address and the name of its key's environment variable under \`providers\` of a configuration
file, name it under \`upstreams\` of a catalog file, and start with --config (README, "A real upstream").

`;
}

/** The same for machines, on one line. */
export function readyLine(url: string, { data }: Configuration, { begun, demo, catalog }: FirstWords): string {
  const first = { ...(begun === null ? {} : { begun }), ...demo };
  return `${JSON.stringify({ url, data, ...first, ...(catalog === null ? {} : { catalog }) })}\n`;
}
