import { afterAll, expect, it } from 'vitest';
import { asking, post, refusalOf } from '../fixtures/gateway/call.ts';
import { openAccount } from '../fixtures/gateway/open-account.ts';
import { callsHeld, callsUnderWay } from '../fixtures/gateway/start-gateway.ts';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { countTokens } from '../upstream/answer.ts';

/** Breaks the clock once, where it is asked by what this says of the callers. */
let breaks: ((callers: string) => boolean) | null = null;
function clock(): number {
  if (breaks?.(new Error().stack ?? '') === true) {
    breaks = null;
    throw new Error('the clock is broken');
  }
  return Date.now();
}

const { upstream, gateway } = await startOnUpstream(afterAll, { clock });

const inAdmission = (callers: string): boolean => callers.includes('/admission/admit.ts');
/** The route's handler has returned: the admission has waited for something. */
const inLateAdmission = (callers: string): boolean => inAdmission(callers) && !callers.includes('/routes/messages.ts');
const SHORT = asking('opal-medium', { messages: [{ role: 'user', content: 'word '.repeat(800) }] });
const LONG = { ...SHORT, stop_sequences: Array(1_001).fill('x') };

it.each([
  ['when it is looked at whether anybody is admitted', inAdmission, SHORT, 1_000_000_000n, 0],
  ['before it has waited', (callers: string) => callers.includes('/admission/candidate.ts'), SHORT, 1_000_000_000n, 0],
  ['when its body has been read by a thread', inLateAdmission, LONG, 1_000_000_000n, 0],
  ['when its input has been counted', inAdmission, SHORT, 8_000n, 1],
])('a fault of the program in an admission gives its places back: %s', async (_when, where, body, credits, counts) => {
  const caller = await openAccount(gateway, { credits });
  breaks = counts === 0 ? where : null;
  upstream.answerWith(() => {
    breaks = where;
    return countTokens(900);
  });
  const sent = upstream.requests.length;
  refusalOf(await post(caller, '/v1/messages', body), 500);
  expect(breaks).toBe(null);
  expect(upstream.requests.length).toBe(sent + counts);
  expect(callsUnderWay(gateway.gateway)).toBe(0);
  expect(callsHeld(gateway.gateway)).toBe(0);
});
