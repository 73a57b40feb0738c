interface Clocks {
  readonly leases: { readonly slackMs: number };
  readonly clock: { readonly skewMs: number; readonly jumpMs: number };
}

/**
 * What is wrong with the slack of leases beside what clocks may be off, told by the fields' paths. A proxy admits under a
 * lease until half of the slack is left; by the clock of another the lease is over so much earlier as the two clocks
 * differ. Each may be off the server's by `skewMs`, and by `jumpMs` more before the next comparison.
 */
export function slackFaults({ leases: { slackMs }, clock: { skewMs, jumpMs } }: Clocks): readonly string[] {
  const least = 4 * (skewMs + jumpMs);
  if (slackMs > least) return [];
  return [
    `leases.slackMs: ${slackMs} does not cover what the clocks of two proxies may differ by: it must be above ${least}, which is 4 times clock.skewMs and clock.jumpMs together (${skewMs} + ${jumpMs})`,
  ];
}
