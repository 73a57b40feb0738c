/** What a topic has cannot be told now: it does not answer, or refuses this client. The message is all an operator needs. */
export class TopicAwayError extends Error {
  override readonly name = 'TopicAwayError';
}
