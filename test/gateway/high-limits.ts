/**
 * The section `rateLimits` of gateways that serve a test, a run or a benchmark: none of them shows how fast one account may
 * go, and thousands of requests come from one. Tests of the limits say their own. The one place that says so.
 */
const HIGH = {
  requestsPerMinute: 1_000_000_000,
  inputTokensPerMinute: 10_000_000_000,
  outputTokensPerMinute: 10_000_000_000,
  concurrentRequests: 20_000,
  concurrentStreams: 20_000,
  concurrentCounts: 20_000,
};

export const HIGH_LIMITS = { paid: HIGH, unpaid: HIGH, keyPercent: 100 };
