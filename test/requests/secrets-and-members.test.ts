import { describe, expect, it } from 'vitest';
import { accountId, grantId, keyId } from '../../contracts/ids.ts';
import { microUsd } from '../../contracts/money.ts';
import type { AccountCommand } from '../../ledger/account/commands.ts';
import { entryOf } from '../../ledger/account/keyed-tree.ts';
import { newKey } from '../../ledger/account/new-key.ts';
import { asking, type Callable, call, post, refusalOf } from '../fixtures/gateway/call.ts';
import { startTestGateway, type TestGateway } from '../fixtures/gateway/start-gateway.ts';

/** Whose secrets are taken: of keys that were rotated, of members that left, of accounts of another product. */
const NOW = Date.parse('2026-05-15T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const ORG = accountId('acct_org');

interface Scene {
  readonly gateway: TestGateway;
  nowMs: number;
  /** Why `/me` refuses it; null where it does not. */
  refusal(key: string): Promise<string | null>;
  /** The key's new secret. */
  rotate(id: string, overlapMs: number, endsPrevious?: boolean): Promise<string>;
}

async function scene<T>(work: (scene: Scene) => Promise<T>, data?: string): Promise<T> {
  const clock = { nowMs: NOW };
  const gateway = await startTestGateway({ clock: () => clock.nowMs, ...(data === undefined ? {} : { data }) });
  const made: Scene = {
    gateway,
    get nowMs() {
      return clock.nowMs;
    },
    set nowMs(to: number) {
      clock.nowMs = to;
    },
    refusal: async (key) => {
      const answered = await call(gateway.url, '/me', { headers: { 'x-api-key': key } });
      return answered.status === 200 ? null : refusalOf(answered, 401);
    },
    rotate: async (id, overlapMs, endsPrevious = false) => {
      const { secret, sha256, last4 } = newKey();
      const rotating = { type: 'RotateKey', keyId: keyId(id), sha256, last4, overlapMs, endsPrevious } as const;
      await gateway.command({ ...rotating, by: 'ada', nowMs: clock.nowMs });
      return secret;
    },
  };
  try {
    return await work(made);
  } finally {
    await gateway.stop();
  }
}

const ROTATED = 'the service key was rotated: use its new secret';
const UNKNOWN = 'the service key is not known';

describe('a key that was rotated', () => {
  it('has two secrets until the instant at which the overlap ends, and is one key in usage and limits', async () => {
    await scene(async ({ gateway, refusal, rotate }) => {
      const { key, keyId: id } = await gateway.issueKey();
      const secret = await rotate(id, HOUR_MS);
      const of = (one: string): Callable => ({ url: gateway.url, key: one });
      for (const one of [key, secret]) {
        expect(await refusal(one)).toBeNull();
        expect((await post(of(one), '/v1/messages', asking('opal-medium'))).status).toBe(200);
      }
      const events = await gateway.events();
      const usages = events.flatMap((event) => (event.type === 'UsageRecorded' ? [event.data.keyId] : []));
      expect(usages).toEqual([id, id]);
      const { state } = gateway.gateway.process.projections.accounts.read(gateway.accountId);
      const months = state.type === 'open' ? Object.values(state.spend.months) : [];
      expect(months.map(({ keys, account }) => entryOf(keys, id) === account)).toEqual([true]);
    });
  });

  it('has by the clock one secret from then on', async () => {
    await scene(async (made) => {
      const { key, keyId: id } = await made.gateway.issueKey();
      const secret = await made.rotate(id, HOUR_MS);
      made.nowMs = NOW + HOUR_MS - 1;
      expect([await made.refusal(key), await made.refusal(secret)]).toEqual([null, null]);
      made.nowMs = NOW + HOUR_MS;
      expect([await made.refusal(key), await made.refusal(secret)]).toEqual([ROTATED, null]);
      const third = await made.rotate(id, 0);
      expect([await made.refusal(key), await made.refusal(secret)]).toEqual([UNKNOWN, ROTATED]);
      expect(await made.refusal(third)).toBeNull();
    });
  });

  it('has the same secrets after a restart', async () => {
    const { data, ...secrets } = await scene(async (made) => {
      const { key: oldest, keyId: id } = await made.gateway.issueKey();
      const old = await made.rotate(id, HOUR_MS);
      const newest = await made.rotate(id, HOUR_MS, true);
      return { data: made.gateway.data, oldest, old, newest };
    });
    await scene(async ({ refusal }) => {
      expect(await refusal(secrets.oldest)).toBe(UNKNOWN);
      expect([await refusal(secrets.old), await refusal(secrets.newest)]).toEqual([null, null]);
    }, data);
  });
});

const opening = (product?: string): AccountCommand => ({
  ...{ type: 'OpenAccount', accountId: ORG, kind: 'organization', email: 'owner@example.com' },
  ...{ trial: microUsd(1_000_000n), trialGrantId: grantId('grant_trial'), nowMs: NOW },
  ...(product === undefined ? {} : { product }),
});

it('a key stops as its member leaves, and those of others go on', async () => {
  await scene(async ({ gateway, refusal }) => {
    await gateway.command(opening(), ORG);
    const ben = { email: 'ben@example.com', by: 'owner@example.com', nowMs: NOW };
    await gateway.command({ type: 'AddMember', role: 'member', ...ben }, ORG);
    const { key } = await gateway.issueKey({ member: 'Ben@example.com' }, ORG);
    const { key: others } = await gateway.issueKey({}, ORG);
    expect([await refusal(key), await refusal(others)]).toEqual([null, null]);
    await gateway.command({ type: 'RemoveMember', ...ben }, ORG);
    expect([await refusal(key), await refusal(others)]).toEqual(['the service key is revoked', null]);
  });
});

it('a key of another product’s account is as one that nobody has', async () => {
  await scene(async ({ gateway, refusal }) => {
    await gateway.command(opening('images'), ORG);
    const { key } = await gateway.issueKey({}, ORG);
    expect(await refusal(key)).toBe(UNKNOWN);
    expect(refusalOf(await post({ url: gateway.url, key }, '/v1/messages', asking('opal-medium')), 401)).toBe(UNKNOWN);
  });
});
