import { beforeEach, describe, expect, it } from 'vitest';
import { decodeClaimMetadata } from '../../../contracts/event-codec.ts';
import { BASE_FORMS, formsBeyond, OWN_FORMS } from '../../../contracts/event-forms.ts';
import { NO_STREAM, position, relayStream } from '../../../contracts/ids.ts';
import { type ClaimOptions, RelayClaim, RelayFencedError } from '../../../ledger/relay/relay-claim.ts';
import { type RelayState, readRelayState } from '../../../ledger/relay/relay-state.ts';
import { standBy } from '../../../ledger/relay/stand-by.ts';
import { eventually } from '../../kafka/eventually.ts';
import { LedgerFile } from './ledger-file.ts';

const CLAIM_MS = 600;
const NEW: RelayState = { revision: NO_STREAM, epoch: 0, leader: null, checkpoint: null };

describe('the claim of a relay', () => {
  let ledger: LedgerFile;
  let nowMs: number;

  const options = (relay: string): ClaimOptions => ({
    log: ledger.log,
    feed: 'ledger',
    relay,
    claimMs: CLAIM_MS,
    clock: () => nowMs,
    signal: new AbortController().signal,
  });
  const stateNow = () => readRelayState(ledger.log, relayStream('ledger'));
  const claimed = async (relay: string, state = NEW): Promise<RelayClaim> => {
    const claim = await RelayClaim.take(options(relay), state);
    if (claim === null) throw new Error('another was faster');
    return claim;
  };
  const waiting = (relay: string) => {
    const stop = new AbortController();
    const looks: RelayState[] = [];
    const others: string[] = [];
    const claim = standBy({
      ...options(relay),
      signal: stop.signal,
      onState: (state) => looks.push(state),
      onOther: (other) => others.push(other),
      mayClaim: async () => true,
      onLogAway: () => undefined,
    });
    return { claim, looks, others, stop: () => stop.abort() };
  };

  beforeEach(async () => {
    nowMs = Date.UTC(2026, 10, 21);
    ledger = await LedgerFile.open();
  });

  it('is of the one that is faster', async () => {
    const claims = await Promise.all(['one', 'two'].map((relay) => RelayClaim.take(options(relay), NEW)));
    expect(claims.filter((claim) => claim !== null).length).toBe(1);
  });

  it('says with each of its events what its program reads, beyond what every program does', async () => {
    const reads = { ...OWN_FORMS, PlanChanged: 9 };
    const claim = await RelayClaim.take({ ...options('one'), reads }, NEW);
    await claim?.checkpoint(position(17));
    await claim?.release();
    const events = await Array.fromAsync(ledger.log.readStream(relayStream('ledger')));
    expect(events.map((event) => [event.type, decodeClaimMetadata(event).reads])).toEqual(
      ['RelayClaimed', 'RelayCheckpointed', 'RelayReleased'].map((type) => [type, formsBeyond(reads, BASE_FORMS)]),
    );
  });

  it('has an epoch that is one more than that of the claim before, and begins at its checkpoint', async () => {
    const one = await claimed('one');
    await one.checkpoint(position(17));
    await one.release();
    const two = await claimed('two', await stateNow());
    expect([one.epoch, two.epoch]).toEqual([1, 2]);
    expect(two.checkpointed).toBe(17);
  });

  it('is lost with the first append after another has taken it', async () => {
    const one = await claimed('one');
    nowMs += CLAIM_MS;
    await claimed('two', await stateNow());
    await expect(one.checkpoint(position(1))).rejects.toThrow(RelayFencedError);
    await expect(one.ensure()).rejects.toThrow(/one is fenced: another relay has claimed the feed ledger/);
    expect((await stateNow()).checkpoint).toBeNull();
  });

  it('is renewed before a send when less than half of it is left, and not before', async () => {
    const one = await claimed('one');
    const { revision } = await stateNow();
    nowMs += CLAIM_MS / 2;
    await one.ensure();
    expect((await stateNow()).revision).toBe(revision);
    nowMs += 1;
    await one.ensure();
    expect(await stateNow()).toMatchObject({ revision: revision + 1, leader: { untilMs: nowMs + CLAIM_MS } });
  });

  it('keeps its checkpoint when it is renewed', async () => {
    const one = await claimed('one');
    await one.checkpoint(position(17));
    nowMs += CLAIM_MS;
    await one.ensure();
    expect((await stateNow()).checkpoint).toBe(17);
  });

  it('may be put back to the beginning', async () => {
    const one = await claimed('one');
    await one.checkpoint(position(17));
    await one.checkpoint(null);
    expect((await stateNow()).checkpoint).toBeNull();
  });

  it('is taken at once where there is none, and where it was released', async () => {
    const one = await waiting('one').claim;
    await one?.release();
    const two = await waiting('two').claim;
    expect(two?.epoch).toBe(2);
  });

  it('is not taken before it has been over for longer than clocks may differ', async () => {
    await claimed('one');
    const { claim, looks, others } = waiting('two');
    const looked = async (): Promise<void> => {
      const seen = looks.length;
      await eventually('two more looks', () => looks.length >= seen + 2);
    };
    await looked();
    nowMs += CLAIM_MS + CLAIM_MS / 6;
    await looked();
    expect((await stateNow()).epoch).toBe(1);
    expect(others).toEqual(['one']);
    nowMs += 1;
    expect((await claim)?.epoch).toBe(2);
  });

  it('is waited for until the relay is told to stop', async () => {
    await claimed('one');
    const { claim, looks, stop } = waiting('two');
    await eventually('a look', () => looks.length > 0);
    stop();
    expect(await claim).toBeNull();
  });
});
