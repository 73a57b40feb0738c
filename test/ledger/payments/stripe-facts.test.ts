import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { noticeOf } from '../../../ledger/payments/stripe-facts.ts';

const fileAt = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** All that Stripe sends, by its own library. */
const KINDS = [...fileAt('node_modules/stripe/esm/resources/Events.d.ts').matchAll(/^ {4}type: '([^']+)';$/gm)].map(
  ([, kind = '']) => kind,
);

const isHeard = (type: string): boolean =>
  noticeOf(Buffer.from(JSON.stringify({ type, data: { object: { id: 'x_1', object: 'charge' } } }))) !== null;

/** One that begins with a dot goes on as the one before it. */
function namedInReadme(): string[] {
  const list = /Name these events: (.*?)\. Stripe tells again/s.exec(fileAt('README.md'))?.[1] ?? '';
  let group = '';
  return [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => {
    const kind = name.startsWith('.') ? group + name : name;
    group = kind.slice(0, kind.lastIndexOf('.'));
    return kind;
  });
}

it('each kind of message that is heard is one of Stripe’s, and is named in the README, which names no other', () => {
  expect(namedInReadme().toSorted()).toEqual(KINDS.filter(isHeard).toSorted());
});
