import { editTopLevel } from '../request-body/edit-top-level.ts';
import type { RequestBytes } from '../request-body/request-bytes.ts';
import type { MessageFacts } from '../request-body/request-facts.ts';

interface BodyForUpstream {
  readonly bytes: RequestBytes;
  readonly facts: Pick<MessageFacts, 'model' | 'hasSpeed' | 'topLevel'>;
  /** The model's name there. */
  readonly upstreamModel: string;
  readonly asksForFast: boolean;
  /** Asked for, and the model has a fast lane. */
  readonly mayRunFast: boolean;
}

/** The client's bytes but for the model's name and, where it must, the lane: else as they were, byte for byte. */
export function bodyForUpstream(request: BodyForUpstream): RequestBytes {
  const { bytes, facts, upstreamModel, mayRunFast, asksForFast } = request;
  const isSameModel = upstreamModel === facts.model;
  const removesSpeed = !mayRunFast && asksForFast && facts.hasSpeed;
  if (isSameModel && !mayRunFast && !removesSpeed) return bytes;
  const set = {
    ...(isSameModel ? {} : { model: JSON.stringify(upstreamModel) }),
    ...(mayRunFast ? { speed: '"fast"' } : {}),
  };
  return bytes.changed(editTopLevel(facts.topLevel, { set, remove: removesSpeed ? ['speed'] : [] }));
}
