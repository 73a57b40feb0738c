import { expect, it } from 'vitest';
import { AnswerMeter } from '../../../proxy/meter/answer-meter.ts';
import { ANSWER_PARSED_BYTES_MAX } from '../../../proxy/meter/limits.ts';
import { StreamMeter } from '../../../proxy/meter/stream-meter.ts';
import { NO_SECRETS } from '../../../proxy/upstream/upstream-words.ts';

/** What an operator is told of a number that is none of tokens is what the upstream said, not what a parser makes of it. */
const OTHER = '"content":[{"type":"tool_use","input":{"usage":{"output_tokens":9007199254740992}}}]';

const answer = (usage: string, content = OTHER): string => `{"type":"message",${content},"usage":${usage}}`;

function ofAnswer(body: string, contentLength = Buffer.byteLength(body)): string[] {
  const meter = new AnswerMeter(contentLength, NO_SECRETS);
  meter.push(Buffer.from(body));
  meter.end();
  return meter.usage.unread;
}

function ofStream(...events: readonly string[]): string[] {
  const meter = new StreamMeter(NO_SECRETS);
  for (const data of events) meter.push(Buffer.from(`data: ${data}\n\n`));
  return meter.usage.unread;
}

const start = (usage: string): string => `{"type":"message_start","message":{${OTHER},"usage":${usage}}}`;
const delta = (usage: string): string => `{"type":"message_delta","delta":{},"usage":${usage}}`;

it.each([
  ['9007199254740993', '9007199254740993'],
  ['1e400', '1e400'],
  ['1e99999999', '1e99999999'],
  ['-1.50', '-1.50'],
  ['7'.repeat(41), `${'7'.repeat(40)}…`],
  [`0.${'1'.repeat(1_000)}`, `0.${'1'.repeat(38)}…`],
])('of %s, %s is told', (said, told) => {
  const output = `{"input_tokens":5,"output_tokens":${said}}`;
  expect(ofAnswer(answer(output))).toEqual([`usage.output_tokens: ${told} cannot be read`]);
  expect(ofStream(start(output))).toEqual([`message_start.message.usage.output_tokens: ${told} cannot be read`]);
  expect(ofStream(start('{}'), delta(output))).toEqual([`message_delta.usage.output_tokens: ${told} cannot be read`]);
});

it('it is told as said wherever it stands, and in an answer that is long or cut', () => {
  const told = ['usage.output_tokens: 9007199254740993 cannot be read'];
  const body = answer('{"output_tokens":9007199254740993}');
  expect(ofAnswer(body, body.length + 10)).toEqual(told);
  expect(ofAnswer(body.slice(0, -1), body.length)).toEqual(told);
  const long = `"content":[{"type":"text","text":"${'x'.repeat(ANSWER_PARSED_BYTES_MAX)}"}]`;
  expect(ofAnswer(answer('{"output_tokens":9007199254740993}', long))).toEqual(told);
  const parts =
    '{"cache_creation":1e400,"server_tool_use":{"a":9007199254740993},"service_tier":1e400,"input_tokens":7}';
  expect(ofAnswer(answer(parts))).toEqual([
    'usage.cache_creation: 1e400 cannot be read',
    'usage.server_tool_use: 9007199254740993 cannot be read',
    'usage.service_tier: 1e400 cannot be read',
  ]);
  expect(ofAnswer(answer('1e400'))).toEqual(['usage: 1e400 cannot be read']);
});

it('each is told once, and what is said beside it counts as it does otherwise', () => {
  const meter = new StreamMeter(NO_SECRETS);
  const uses = '"server_tool_use":{"web_search_requests":2}';
  for (const data of [start('{"input_tokens":-1}'), delta(`{"output_tokens":1e400,"input_tokens":3,${uses}}`)])
    meter.push(Buffer.from(`data: ${data}\n\n`.repeat(2)));
  expect(meter.usage).toMatchObject({ inputTokens: 3, outputTokens: null, uses: { web_search_requests: 2 } });
  expect(meter.usage.unread).toEqual([
    'message_start.message.usage.input_tokens: -1 cannot be read',
    'message_delta.usage.output_tokens: 1e400 cannot be read',
  ]);
});
