import { z } from 'zod';
import { type Answer, countTokens, failure, json, stream } from './answer.ts';
import { message } from './message.ts';
import type { SeenRequest } from './seen-request.ts';
import { streamEvents } from './stream-events.ts';

const bodySchema = z.looseObject({ model: z.string(), stream: z.boolean().nullish() });

/** What a healthy provider would say: a Message or a stream with the request's model, or a count of tokens. */
export function defaultAnswer({ method, path, body }: SeenRequest): Answer {
  const route = `${method} ${path.split('?')[0]}`;
  if (route === 'POST /v1/messages/count_tokens') return countTokens(Math.ceil(body.length / 4));
  if (route !== 'POST /v1/messages') return failure(404);
  const parsed = bodySchema.safeParse(jsonOf(body));
  if (!parsed.success) return failure(400);
  const { model, stream: isStream } = parsed.data;
  const headers = { 'request-id': 'req_upstream_0123456789' };
  return isStream === true ? stream(streamEvents({ model }), headers) : json(message({ model }), { headers });
}

/** The parsed body; undefined where it is not JSON. */
export function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
