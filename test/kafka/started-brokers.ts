export interface StartedBrokers {
  /** host:port */
  readonly brokers: readonly string[];
  stop(): Promise<void>;
}
