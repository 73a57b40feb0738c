import { setTimeout as delay } from 'node:timers/promises';
import type { MeSeen } from '../crash/audit/audit-views.ts';
import { meOnceSettled } from '../crash/audit-run.ts';
import type { ClientKey } from '../crash/post-planned.ts';
import { viewRows } from '../crash/view-rows.ts';
import { isPublished } from './logged-stream.ts';
import type { SoakFleet } from './soak-fleet.ts';
import type { StoreOfRun } from './store-of-run.ts';
import type { TopicRecord } from './topic-record.ts';

/** What a proxy tells one account. */
export interface Answer {
  readonly url: string;
  readonly key: ClientKey;
  readonly me: MeSeen;
}

const PUBLISHED_MS_MAX = 180_000;
const POLL_MS = 500;
const ACCOUNT = 'account-';

/**
 * Waits until every proxy knows the keys. Where a relay was killed just before, whoever reads the topic waits for the
 * other one to take over. @throws Error when a proxy does not know one of them after three minutes
 */
export async function untilKnown(fleet: SoakFleet, keys: readonly ClientKey[]): Promise<void> {
  const untilMs = Date.now() + PUBLISHED_MS_MAX;
  for (const url of fleet.urls)
    for (const { key, keyId } of keys)
      for (;;) {
        const { status } = await fetch(`${url}/me`, { headers: { 'x-api-key': key } });
        if (status === 200) break;
        if (Date.now() > untilMs) throw new Error(`${url} answers ${status} to the key ${keyId} still`);
        await delay(POLL_MS);
      }
}

/** What every proxy tells every account, once nothing is held any more. */
export async function answersOnceSettled(fleet: SoakFleet, keys: readonly ClientKey[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const url of fleet.urls) for (const key of keys) answers.push({ url, key, me: await meOnceSettled(url, key) });
  return answers;
}

/** Waits until the topic has every event of the log and has been read to its end; goes on without after three minutes. */
export async function untilPublished(store: Pick<StoreOfRun, 'streams'>, topic: TopicRecord): Promise<void> {
  const untilMs = Date.now() + PUBLISHED_MS_MAX;
  while (Date.now() < untilMs) {
    const streams = (await store.streams()).filter(isPublished);
    const lasts = topic.lastRevisions();
    if (streams.every(({ stream, events }) => (lasts.get(stream) ?? -1) === events.length - 1)) return;
    await delay(POLL_MS);
  }
}

/**
 * Waits until the views of every proxy know the end of every account's stream: one that has just started, with its views
 * from a topic, may answer from what it had kept before. Goes on without after three minutes.
 */
export async function untilViewed(fleet: SoakFleet): Promise<void> {
  const untilMs = Date.now() + PUBLISHED_MS_MAX;
  const accounts = (await fleet.store.streams()).filter(({ stream }) => stream.startsWith(ACCOUNT));
  const isViewed = ({ data }: { readonly data: string }): boolean => {
    const rows = viewRows(data, { remove: false }).map((row) => JSON.parse(row));
    return accounts.every(({ stream, events }) =>
      rows.some(({ account_id, revision }) => `${ACCOUNT}${account_id}` === stream && revision >= events.length - 1),
    );
  };
  while (Date.now() < untilMs && !fleet.kept.every(isViewed)) await delay(POLL_MS);
}
