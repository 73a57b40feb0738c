import type { SeededRandom } from '../fixtures/seeded-random.ts';
import type { PlannedRequest } from './planned-request.ts';
import type { RequestCase } from './request-cases.ts';

/** The beta that some models of the catalog have with a window of its own, and the others not at all. */
export const LONG_WINDOW_BETA = 'context-1m-2025-08-07';
export const LONG_WINDOW = 1_000_000;
/** On the list that the gateway ships, and on no list. */
export const LISTED_BETA = 'interleaved-thinking-2025-05-14';
const UNLISTED_BETA = 'bigger-everything-2031-01-01';

/** So many of a run's requests are one of its cases. */
const CASE_SHARE = 0.4;
/** What a tool or a document may bring: within the window, far beyond the request's bytes. */
const OUTSIDE_TOKENS_MAX = 120_000;
const LONG_TOKENS = [300_000, 900_000] as const;
/** What a loopback connection and the processes on its way keep for a client that does not read is less than all this. */
const SLOW_EVENTS = 220;
const SLOW_PIECE_BYTES = 65_536;
/** Longer than a gateway of a run waits for a client. */
const SLOW_MS = [3_000, 4_500] as const;

/** One of the cases, made of a plain request; often none, and it stays plain. */
export function withCase(plain: PlannedRequest, random: SeededRandom, cases: readonly RequestCase[]): PlannedRequest {
  // Drawn either way, so that the same seed draws the same plain requests whatever the cases are.
  const own = random.fork();
  if (cases.length === 0 || !own.chance(CASE_SHARE)) return plain;
  const name = own.weighted(cases.map((one) => [one, one === 'slow-readers' ? 0.2 : 1] as const));
  return { ...plain, ...MADE[name](plain, own), case: name };
}

type Made = Partial<PlannedRequest>;
const whole = { ending: 'complete', delayMs: 0 };

const MADE: Readonly<Record<RequestCase, (plain: PlannedRequest, random: SeededRandom) => Made>> = {
  'server-tools': ({ script }, random) => {
    const tokens = { ...script.tokens, input: random.whole(1, OUTSIDE_TOKENS_MAX) };
    if (random.chance(0.4)) return { script: { ...script, tokens }, more: { messages: documentByUrl(random) } };
    const searches = random.whole(0, 3);
    return {
      script: { ...script, tokens, serverToolUse: searches === 0 ? {} : { web_search_requests: searches } },
      more: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    };
  },
  betas: ({ script }, random) => {
    const input = random.whole(...LONG_TOKENS);
    const isKeepingWord = random.chance(0.6);
    const others = [LISTED_BETA, UNLISTED_BETA].filter(() => random.chance(0.5));
    return {
      betas: [...others, LONG_WINDOW_BETA],
      more: { messages: documentByUrl(random) },
      isKeepingWord,
      script: {
        ...script,
        ...(isKeepingWord ? {} : whole),
        tokens: isKeepingWord ? script.tokens : { ...script.tokens, input },
        underBeta: { beta: LONG_WINDOW_BETA, tokens: { ...script.tokens, input } },
      },
    };
  },
  'slow-readers': ({ script }, random) => ({
    isStream: true,
    leaveAfterMs: null,
    stopsReadingMs: random.whole(...SLOW_MS),
    script: { ...script, ...whole, events: SLOW_EVENTS, pieceBytes: SLOW_PIECE_BYTES },
  }),
  'leaving-early': ({ script }, random) => {
    const ending = random.weighted([
      ['silent', 3],
      ['silent-before-head', 3],
      ['complete', 4],
    ] as const);
    const leaveAfterMs = random.whole(0, ending === 'complete' ? 120 : 400);
    return { leaveAfterMs, script: { ...script, ending, delayMs: random.whole(5, 25) } };
  },
  'absurd-usage': ({ script }, random) => ({
    isKeepingWord: false,
    script: { ...script, ...whole, tokens: { ...script.tokens, output: 10 ** random.whole(8, 15) } },
  }),
  'unknown-tiers': ({ script }, random) => ({
    script: { ...script, ...whole, serviceTier: random.chance(0.5) ? 'flex' : 'turbo_2031' },
  }),
  'odd-ends': ({ script }, random) => ({
    isStream: true,
    script: { ...script, ...whole, ending: random.chance(0.5) ? 'no-stop' : 'no-last-line' },
  }),
  'no-usage': ({ script }) => ({
    isStream: false,
    script: { ...script, ...whole, ending: 'no-usage' },
  }),
};

const documentByUrl = (random: SeededRandom): object[] => [
  {
    role: 'user',
    content: [
      { type: 'document', source: { type: 'url', url: `https://documents.example/${random.whole(1, 1_000)}.pdf` } },
      { type: 'text', text: 'hello' },
    ],
  },
];
