import { expect, test } from 'vitest';
import { z } from 'zod';
import { boundedList, text } from '../../contracts/bounded-length.ts';
import { catalogFileSchema } from '../../contracts/catalog.ts';
import { configurationSchema } from '../../contracts/configuration.ts';
import { encodeEvents } from '../../contracts/event-codec.ts';
import { EVENT_SCHEMAS, type EventType } from '../../contracts/events.ts';
import { commandId } from '../../contracts/ids.ts';
import { countTokensRequestSchema, messageRequestSchema, messageSchema } from '../../contracts/messages.ts';
import { catalogEntry } from '../fixtures/catalog-entry.ts';
import { changedAt, placesIn } from '../fixtures/changed-at.ts';
import { EXAMPLE_EVENTS } from '../fixtures/ledger/example-events.ts';
import { ODD_OBJECTS } from '../fixtures/odd-objects.ts';
import { message } from '../upstream/message.ts';

const block = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } };
const request = {
  model: 'm',
  max_tokens: 1,
  messages: [{ role: 'user', content: [block] }],
  system: [block],
  tools: [{ type: 'custom', name: 'x', description: 'x', input_schema: {}, cache_control: {} }, { type: 'x' }],
  stream: true,
  temperature: 1,
  stop_sequences: ['x'],
  tool_choice: {},
  speed: 'fast',
  metadata: {},
};
const configuration = {
  data: 'x',
  providers: { x: { protocol: 'messages', baseUrl: 'http://x', apiKeyEnv: 'X' } },
  eventLog: { kind: 'eventstoredb', connectionString: 'x', streamPrefix: 'x-' },
  kafka: { brokers: ['x:1'], sasl: { mechanism: 'oauthbearer', tokenCommand: ['x'] } },
  browserOrigins: ['http://x'],
  rateLimits: { plans: { x: {} } },
};
const RECORDING = { commandId: commandId('019a5b3c-0000-7000-8000-00000000000a'), actor: 'x', recordedAt: '' };

test.each<[string, z.ZodType, unknown]>([
  ['a message request', messageRequestSchema, request],
  ['what is to be counted', countTokensRequestSchema, request],
  ['an answer', messageSchema, message()],
  [
    'a catalog',
    catalogFileSchema,
    { models: [{ ...catalogEntry('m'), lanes: ['standard', 'fast'], note: 'x', betas: ['x'] }] },
  ],
  ['a configuration', configurationSchema, configuration],
  ...encodeEvents(EXAMPLE_EVENTS, RECORDING).map(
    ({ type, data }) =>
      [`an event ${type}`, EVENT_SCHEMAS[type as EventType], JSON.parse(data)] as [string, z.ZodType, unknown],
  ),
])('%s with an object in it whose length is no number is read or refused like any other', (_what, schema, value) => {
  expect(schema.safeParse(value).error?.message).toBeUndefined();
  for (const path of placesIn(value))
    for (const odd of ODD_OBJECTS) schema.safeParse(changedAt(path, value, odd), { reportInput: true });
});

test('a length has its bounds', () => {
  const faultsOf = (schema: z.ZodType, value: unknown) =>
    schema.safeParse(value).error?.issues.map(({ message: fault }) => fault);
  const list = boundedList(z.int(), { min: 1, max: 2 });
  expect(faultsOf(list, [])).toEqual(['must be at least 1']);
  expect(faultsOf(list, [1])).toBeUndefined();
  expect(faultsOf(list, [1, 2])).toBeUndefined();
  expect(faultsOf(list, [1, 2, 3])).toEqual(['must be at most 2']);
  expect(faultsOf(text, '')).toEqual(['must not be empty']);
  expect(faultsOf(text, '\n')).toBeUndefined();
});
