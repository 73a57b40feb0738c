import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NO_TOKENS, type TokenClass, type TokenCounts } from '../../../contracts/usage.ts';
import { decide } from '../../../ledger/account/decide.ts';
import { endingOf } from '../../../proxy/forwarding/ending.ts';
import { AnswerMeter } from '../../../proxy/meter/answer-meter.ts';
import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';
import { usageOf } from '../../fixtures/ledger/example-account.ts';
import { PRICE, PRICE_CARD } from '../../fixtures/ledger/random-life.ts';
import { event, STOP_EVENT, startEvent, usageEvent } from '../../proxy/meter/streams.ts';
import { type Commands, histories, lived } from '../model/histories.ts';
import { eachEvent, inAnyHistory } from './in-any-history.ts';

const count = fc.nat({ max: 5_000 });
const said = fc.record({
  ...{ input_tokens: count, output_tokens: count },
  ...{ cache_read_input_tokens: count, cache_creation_input_tokens: count },
});

/** How upstreams say what of their output was reasoning, which is in `output_tokens`. */
const reasoning = fc
  .tuple(count, fc.nat({ max: 4 }))
  .map(
    ([tokens, which]): object =>
      [
        { reasoning_tokens: tokens },
        { thinking_tokens: tokens },
        { output_tokens_details: { reasoning_tokens: tokens } },
        { output_tokens_details: { thinking_tokens: tokens } },
        { completion_tokens_details: { reasoning_tokens: tokens } },
      ][which] ?? {},
  );

const thinkingEvent = (thinking: string): string =>
  event('content_block_delta', {
    ...{ type: 'content_block_delta', index: 0 },
    delta: { type: 'thinking_delta', thinking },
  });

/** What an answer, or a stream, of these bytes is settled with; one that its client left has said no last word. */
function tokensOf(bytes: string, kind: 'answer' | 'stream' | 'left'): TokenCounts {
  const body = Buffer.from(bytes);
  const meter = kind === 'answer' ? new AnswerMeter(body.length, NO_SECRETS) : new StreamMeter(NO_SECRETS);
  meter.push(body);
  meter.end();
  const ending = endingOf({
    ...{ outcome: kind === 'left' ? 'client_disconnected' : 'completed', seen: meter.usage, isFinal: meter.isFinal },
    ...{ upstream: { provider: 'mock', model: 'opal-medium', requestId: null }, maxTokens: 100_000 },
    ...{ estimateInput: () => NO_TOKENS, card: PRICE_CARD, hold: null, mayRunFast: false },
    ...{ chargeInterrupted: 'none', nowMs: 0 },
  });
  expect(ending.source).toBe(kind === 'left' ? 'estimated' : 'reported');
  return ending.tokens;
}

it('invariant 12: tokens: reasoning tokens are in the output, and never added to it, in an answer, a stream and their debit', () => {
  const all = [histories, said, reasoning, fc.string(), fc.boolean()] as const;
  fc.assert(
    fc.property(...all, (commands: Commands, usage, ofOutput, thinking, isStream) => {
      const { output_tokens: output, ...ofInput } = usage;
      const content = [{ type: 'thinking', thinking }];
      const tokens = isStream
        ? tokensOf(
            [
              startEvent({ ...ofInput, output_tokens: 1 }),
              thinkingEvent(thinking),
              usageEvent({ output_tokens: output, ...ofOutput }),
              STOP_EVENT,
            ].join(''),
            'stream',
          )
        : tokensOf(
            JSON.stringify({ id: 'msg_1', type: 'message', content, usage: { ...usage, ...ofOutput } }),
            'answer',
          );
      const { input_tokens: input, cache_read_input_tokens: cacheRead } = ofInput;
      const cacheWrite5m = ofInput.cache_creation_input_tokens;
      expect(tokens).toEqual({ input, output, cacheRead, cacheWrite5m, cacheWrite1h: 0 });

      const { open: account, nowMs } = lived(commands);
      const [startedAt, finishedAt] = [nowMs + 1, nowMs + 2].map((ms) => new Date(ms).toISOString()) as [
        string,
        string,
      ];
      const { id, version, hash } = PRICE_CARD;
      const recorded = usageOf(0xffff, 0, { tokens, startedAt, finishedAt, rateCard: { id, version, hash } });
      const events = decide({ type: 'RecordUsage', usage: recorded, card: PRICE_CARD }, account);
      if ('type' in events) throw new Error(events.message);
      const lines = events.flatMap(({ type, data }) => (type === 'CreditsDebited' ? data.lines : []));
      const counted = lines.map((line) => line.tokens).reduce((sum, one) => sum + one, 0);
      expect(counted).toBe(input + output + cacheRead + cacheWrite5m);
    }),
    { numRuns: 150 },
  );
});

it('invariant 12: tokens: what was thought in an answer that its client left is estimated by its text, and not added once more', () => {
  fc.assert(
    fc.property(said, reasoning, fc.string({ maxLength: 400 }), (usage, ofOutput, thinking) => {
      const left = (more: object) => tokensOf(startEvent({ ...usage, ...more }) + thinkingEvent(thinking), 'left');
      expect(left(ofOutput)).toEqual(left({}));
    }),
  );
});

/** Of the input's price, but for the output, which has its own. */
const PERCENT: Readonly<Record<TokenClass, bigint>> = {
  ...{ input: 100n, output: 100n, cacheRead: 10n, cacheWrite5m: 125n, cacheWrite1h: 200n },
};

it('invariant 13: multipliers: in any history each line of a debit is at its exact part of the price, twice in the fast lane, and once', () => {
  const seen = new Set<string>();
  inAnyHistory(150, (account) => {
    for (const { event } of eachEvent(account)) {
      if (event.type !== 'CreditsDebited') continue;
      const { lane, lines } = event.data;
      for (const { tokenClass, tokens, rate, cost } of lines) {
        const price = tokenClass === 'output' ? PRICE.output : PRICE.input;
        expect(rate * 100n).toBe(price * PERCENT[tokenClass] * (lane === 'fast' ? 2n : 1n));
        expect(cost).toBe(BigInt(tokens) * rate);
        seen.add(`${lane} ${tokenClass}`);
      }
    }
  });
  expect(seen.size).toBe(2 * Object.keys(PERCENT).length);
});
