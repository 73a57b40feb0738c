/**
 * How long the gateways of the runs read an answer on whose client has left, in ms; past it they cancel it and estimate.
 * A silent upstream is left then; others have mostly said their last by then, but not all on a busy machine.
 */
export const RUN_DRAIN_MS = 6_000;
