import type { RequestId } from '../../contracts/ids.ts';
import { encoderOf } from '../../contracts/schema-encoder.ts';
import { type OpenAccount, openAccountSchema } from './account-state.ts';
import { openException } from './exceptions.ts';
import { billingExceptionSchema, exceptionEndSchema, NO_EXCEPTIONS } from './exceptions-state.ts';
import { entryOf, withEntry } from './keyed-tree.ts';

const encodeAccount = encoderOf(openAccountSchema);
const encodeException = encoderOf(billingExceptionSchema);

/** An account's state as text, without its exceptions: each is a text of its own, and changes by itself. */
export function accountText({ exceptions, ...account }: OpenAccount): string {
  const { open: _open, ended: _ended, ...inSum } = exceptions;
  return JSON.stringify(encodeAccount({ ...account, exceptions: inSum }));
}

/** One exception as text: how it ended, or what it is about. `open` is all of the latter. */
export interface StoredException {
  readonly state: 'open' | 'approved' | 'dropped';
  /** JSON; empty of one that has ended. */
  readonly text: string;
}

/** @throws Error where there is none of this request */
export function storedException({ exceptions }: OpenAccount, requestId: RequestId): StoredException {
  const exception = openException(exceptions, requestId);
  if (exception !== undefined) return { state: 'open', text: JSON.stringify(encodeException(exception)) };
  const state = entryOf(exceptions.ended, requestId);
  if (state === undefined) throw new Error(`${requestId} has no exception`);
  return { state, text: '' };
}

/** What `accountText` gave; its exceptions follow one by one. @throws Error where it is not of that form */
export function accountOfText(text: string): OpenAccount {
  const { exceptions, ...account } = openAccountSchema.parse(JSON.parse(text));
  return { ...account, exceptions: { ...NO_EXCEPTIONS, ...exceptions } };
}

/** With an exception that `storedException` gave. @throws Error where it is not of that form */
export function withStoredException(
  account: OpenAccount,
  requestId: string,
  { state, text }: Readonly<Record<keyof StoredException, string>>,
): OpenAccount {
  const { exceptions } = account;
  const { open, ended } = exceptions;
  const changed =
    state === 'open'
      ? { open: withEntry(open, requestId, billingExceptionSchema.parse(JSON.parse(text))) }
      : { ended: withEntry(ended, requestId, exceptionEndSchema.parse(state)) };
  return { ...account, exceptions: { ...exceptions, ...changed } };
}
