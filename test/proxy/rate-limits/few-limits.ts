/** So few that a test comes to each of them soon. */
export const FEW_LIMITS = {
  requestsPerMinute: 60,
  inputTokensPerMinute: 600,
  outputTokensPerMinute: 600,
  concurrentRequests: 3,
  concurrentStreams: 1,
  concurrentCounts: 1,
};
