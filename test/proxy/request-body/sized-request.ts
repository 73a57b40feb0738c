import { messageRequestSchema } from '../../../contracts/messages.ts';
import { requestSize } from '../../../proxy/request-body/request-size.ts';

/** What a request is weighed as, with these fields beside those that every one has. */
export const sizeOf = (more: object) => {
  const request = { model: 'm', max_tokens: 1, messages: [], ...more };
  return requestSize(messageRequestSchema.parse(request), Buffer.from(JSON.stringify(request)));
};
export const saying = (...content: object[]) => ({ messages: [{ role: 'user', content }] });

/** Whoever goes through it fails. */
export const untouchable = new Proxy(
  {},
  {
    ownKeys: () => {
      throw new Error('was gone through');
    },
    get: () => {
      throw new Error('was looked into');
    },
  },
);
export const BARE = { model: 'm', max_tokens: 1, messages: [] };
export const NAMED = Buffer.from('"cache_control"');
