import type { IncomingHttpHeaders } from 'node:http';
import { type Refusal, refusal } from '../../contracts/errors.ts';
import type { MessageFacts } from '../request-body/request-facts.ts';

/** Whether the fast lane is asked for, by the body or by `x-svc-speed` (interface, 5.3). */
export function asksForFast({ speed }: Pick<MessageFacts, 'speed'>, headers: IncomingHttpHeaders): boolean | Refusal {
  const header = headers['x-svc-speed'];
  if (header !== undefined && header !== 'fast' && header !== 'standard')
    return refusal('invalid_request', 'x-svc-speed: expected one of "standard", "fast"');
  return header === 'fast' || speed === 'fast';
}
