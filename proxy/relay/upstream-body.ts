import { editTopLevel } from '../request-body/edit-top-level.ts';

export interface BodyForUpstream {
  readonly body: Buffer;
  readonly modelInBody: string;
  /** The model's name there. */
  readonly upstreamModel: string;
  readonly asksForFast: boolean;
  readonly bodyHasSpeed: boolean;
  /** Asked for, and the model has a fast lane. */
  readonly mayRunFast: boolean;
}

/**
 * The client's bytes with what must differ upstream: the model's name, and the lane where the header asked for it or the
 * model does not have it. Everything else stays as it was, byte for byte.
 */
export function bodyForUpstream(request: BodyForUpstream): Buffer {
  const set: Record<string, string> = {};
  const remove: string[] = [];
  if (request.upstreamModel !== request.modelInBody) set.model = JSON.stringify(request.upstreamModel);
  if (request.mayRunFast) set.speed = '"fast"';
  else if (request.asksForFast && request.bodyHasSpeed) remove.push('speed');
  if (Object.keys(set).length === 0 && remove.length === 0) return request.body;
  return editTopLevel(request.body, { set, remove });
}
