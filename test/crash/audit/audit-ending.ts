import { TOKEN_CLASSES, type Tokens, type UsageData } from '../../../ledger/audit/stored-event.ts';
import type { ModelPrices } from '../crash-catalog.ts';
import type { SentRequest } from '../post-planned.ts';
import { RUN_DRAIN_MS } from '../run-drain.ts';
import type { RecordedRequest } from './upstream-record.ts';

interface EndingEvidence {
  /** The upstream's word on what it was asked and what it answered. */
  readonly seen: RecordedRequest;
  /** The client's word on what it heard. */
  readonly sent: SentRequest;
  readonly usage: UsageData;
  readonly prices: ModelPrices;
  /** When a gateway was killed, in ms since 1970. */
  readonly killsMs: readonly number[];
}

const NONE: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0 };

/** What is wrong with the record of a request that the upstream saw: its outcome, tokens, lane and whether it is charged. */
export function auditEnding(evidence: EndingEvidence): string[] {
  const { usage, sent, seen, prices } = evidence;
  const faults = usage.outcome === 'recovered' ? auditRecovered(evidence) : auditHeard(evidence);
  // Fast where it was asked for, the model has it and the answer says so; without any answer there is no lane to tell.
  const saysFast = seen.script.serviceTier === 'priority' && (usage.source === 'reported' || hasInput(usage, seen));
  const isFast = sent.planned.asksForFast && prices.hasFastLane && saysFast;
  const lane = isFast && hasTokens(usage.tokens) ? 'fast' : 'standard';
  if (usage.lane !== lane) faults.push(`lane ${usage.lane}, should be ${lane}`);
  if (usage.outcome === 'client_disconnected' && !sent.left) faults.push('its client never left');
  return faults.map((fault) => `${usage.requestId} (${seen.id}, ${describe(evidence)}): ${fault}`);
}

const describe = ({ seen, sent, usage }: EndingEvidence): string =>
  `${seen.stream ? 'stream' : 'JSON'} ${seen.script.ending}, client heard ${sent.heard}${sent.left ? ' and left' : ''}, recorded as ${usage.outcome}`;

/** Nothing was seen of it: only a kill within its life explains that, and only where its client heard no end either. */
function auditRecovered({ usage, sent, killsMs }: EndingEvidence): string[] {
  const faults = [...sameTokens(usage, NONE), ...notCharged(usage)];
  if (sent.heard !== 'nothing') faults.push('its client heard the end, so the journal had its usage');
  const [from, to] = [Date.parse(usage.startedAt), Date.parse(usage.finishedAt)];
  if (!killsMs.some((atMs) => from <= atMs && atMs <= to)) faults.push('no gateway was killed in its life');
  return faults;
}

function auditHeard(evidence: EndingEvidence): string[] {
  const { seen, usage, sent } = evidence;
  const { ending } = seen.script;
  if (sent.heard === 'complete' && usage.outcome !== 'completed') return ['its client has the complete answer'];
  if (isCutOff(evidence)) return auditCutOff(evidence);
  if (ending === 'no-usage') return auditWithoutUsage(evidence);
  if (WHOLE.has(ending)) return auditComplete(evidence);
  if (ending.startsWith('status-') || ending === 'reset-before-head') return auditRefused(usage);
  if (ending === 'silent' && seen.stream) return auditSilentStream(evidence);
  if (ending.startsWith('silent')) return auditUnanswered(evidence);
  if (!seen.stream) return auditRefused(usage);
  return auditBrokenStream(evidence);
}

/** `no-usage` is whole, too, but has nothing to go by. */
const WHOLE = new Set(['complete', 'no-stop', 'no-last-line']);

/**
 * The gateway has cancelled the call when its client left, or when it had read on for as long as it does: what became of
 * it upstream is nobody's matter any more.
 */
function isCutOff({ seen, sent, usage, prices }: EndingEvidence): boolean {
  const isEstimated = sent.left && usage.outcome === 'client_disconnected' && usage.source === 'estimated';
  const lastedMs = Date.parse(usage.finishedAt) - Date.parse(usage.startedAt);
  // What is silent on purpose is looked at by itself.
  const isPastDrain = lastedMs >= RUN_DRAIN_MS && !seen.script.ending.startsWith('silent');
  return isEstimated && (prices.isCancelled || isPastDrain);
}

/** Its client left while the upstream said nothing: its input was sent, and is charged by estimate. */
const auditUnanswered = (evidence: EndingEvidence): string[] => [
  ...outcomeIn(evidence.usage, ['client_disconnected']),
  ...(evidence.usage.source === 'estimated' ? [] : [`its source is ${evidence.usage.source}`]),
  ...auditCutOff(evidence),
];

/** What had come is as it was reported; what had not is estimated, the input in the cheapest class that it could be. */
function auditCutOff({ seen, usage, sent }: EndingEvidence): string[] {
  const { tokens } = usage;
  const faults = usage.billable ? [] : ['is not charged for what was sent and seen'];
  if (tokens.output > sent.planned.maxTokens) faults.push(`estimates ${tokens.output} output tokens`);
  if (hasInput(usage, seen)) return faults;
  if (tokens.input + tokens.cacheRead === 0) faults.push('its input costs nothing');
  if (tokens.cacheWrite5m + tokens.cacheWrite1h > 0) faults.push('its input is guessed as a cache write');
  return faults;
}

const INPUT_CLASSES = ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h'] as const;

/** A whole answer without usage: its client has the text, and pays for it by estimate. */
function auditWithoutUsage({ usage, sent }: EndingEvidence): string[] {
  const faults = outcomeIn(usage, ['completed', 'client_disconnected']);
  const { input, cacheRead, output } = usage.tokens;
  if (!usage.billable) faults.push('is not charged');
  if (usage.source !== 'estimated') faults.push(`its source is ${usage.source}`);
  if (output < 1 || output > sent.planned.maxTokens) faults.push(`estimates ${output} output tokens`);
  if (input + cacheRead < 1) faults.push('its input costs nothing');
  return faults;
}

/** The whole answer came: what it reported is charged, to the token. */
function auditComplete({ seen, usage }: EndingEvidence): string[] {
  const faults = [
    ...outcomeIn(usage, ['completed', 'client_disconnected']),
    ...sameTokens(usage, reportedTokens(seen)),
    ...namesUpstream(usage, seen),
  ];
  if (!usage.billable) faults.push('is not charged');
  if (usage.source !== 'reported') faults.push(`its source is ${usage.source}`);
  return faults;
}

const auditRefused = (usage: UsageData): string[] => [...outcomeIn(usage, ['upstream_refused']), ...nothingSeen(usage)];

/** Its beginning has said the input; the client left, and past the drain's time the output is estimated. */
function auditSilentStream({ seen, usage, sent }: EndingEvidence): string[] {
  const faults = [...outcomeIn(usage, ['client_disconnected']), ...namesUpstream(usage, seen)];
  const { output } = usage.tokens;
  if (output < 1 || output > sent.planned.maxTokens) faults.push(`estimates ${output} output tokens`);
  faults.push(...sameTokens(usage, { ...reportedTokens(seen), output }));
  if (!usage.billable) faults.push('is not charged for what was seen');
  if (usage.source !== 'estimated') faults.push(`its source is ${usage.source}`);
  return faults;
}

/** The upstream broke it off: what message_start said is recorded and not charged. A reset may take even that along. */
function auditBrokenStream({ seen, usage }: EndingEvidence): string[] {
  const started = { ...reportedTokens(seen), output: 1 };
  if (seen.script.ending === 'reset' && !hasTokens(usage.tokens))
    return [...outcomeIn(usage, ['upstream_interrupted', 'upstream_refused']), ...notCharged(usage)];
  return [
    ...outcomeIn(usage, ['upstream_interrupted']),
    ...sameTokens(usage, started),
    ...notCharged(usage),
    ...namesUpstream(usage, seen),
  ];
}

/** What the upstream said, by what had reached it. */
const reportedTokens = ({ betas = [], script }: RecordedRequest): Tokens =>
  script.underBeta !== undefined && betas.includes(script.underBeta.beta) ? script.underBeta.tokens : script.tokens;

/** The beginning of the answer was seen, which says the input and the tier. */
function hasInput({ tokens }: UsageData, seen: RecordedRequest): boolean {
  const reported = reportedTokens(seen);
  return INPUT_CLASSES.every((name) => tokens[name] === reported[name]);
}

const nothingSeen = (usage: UsageData): string[] => [...sameTokens(usage, NONE), ...notCharged(usage)];

const notCharged = ({ billable }: UsageData): string[] => (billable ? ['is charged'] : []);

const outcomeIn = ({ outcome }: UsageData, allowed: readonly string[]): string[] =>
  allowed.includes(outcome) ? [] : [`should be recorded as ${allowed.join(' or ')}`];

const sameTokens = ({ tokens }: UsageData, expected: Tokens): string[] =>
  TOKEN_CLASSES.filter((name) => tokens[name] !== expected[name]).map(
    (name) => `${tokens[name]} ${name} tokens, should be ${expected[name]}`,
  );

const hasTokens = (tokens: Tokens): boolean => TOKEN_CLASSES.some((name) => tokens[name] > 0);

const namesUpstream = ({ upstream }: UsageData, { id }: RecordedRequest): string[] =>
  upstream.requestId === `req_${id}` ? [] : [`names the upstream's request ${upstream.requestId}, should be req_${id}`];
