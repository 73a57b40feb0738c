import { describe, expect, it } from 'vitest';
import { saidRefusal } from '../../../proxy/forwarding/said-refusal.ts';
import { UpstreamWords } from '../../../proxy/upstream/upstream-words.ts';

const KEY = 'sk-prov+abcDEF123==';
const told = (status: number, body: unknown) =>
  saidRefusal(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), new UpstreamWords(KEY));
const said = (type: string, more: object = {}) => ({ type: 'error', error: { type, message: 'too long', ...more } });

describe('what an upstream says of a request', () => {
  it.each([
    [400, 'invalid_request_error', 'invalid_request'],
    [413, 'request_too_large', 'invalid_request'],
    [422, 'unprocessable', 'invalid_request'],
    [404, 'model_missing', 'model_not_found'],
  ])('%i %s is told with its message, by the error table', (status, type, code) => {
    expect(told(status, said(type))).toEqual({ type: 'refusal', code, message: 'too long' });
  });

  it('keeps what SDKs go on without threads by', () => {
    const details = { error_code: 'thread_unsupported_request' };
    expect(told(400, said('invalid_request_error', { details })).code).toBe('thread_unsupported');
  });

  it('is without our credential, however its JSON spells it', () => {
    const spelled = KEY.replaceAll('+', '\\u002B').replaceAll('=', '\\u003d');
    for (const key of [KEY, spelled])
      expect(told(400, `{"error":{"message":"bad x-api-key ${key}"}}`).message).toBe('bad x-api-key [redacted]');
  });

  it.each([
    '{"error":"bad KEY"}',
    '{"detail":[{"bad KEY":1}]}',
    '"bad KEY"',
    'bad KEY',
    '{"error":{"message":"bad KEY"',
  ])('is not quoted where it spells our credential with escapes and is no envelope: %s', (text) => {
    const spelled = KEY.replaceAll('+', '\\u002b').replaceAll('=', '\\u003D');
    expect(told(400, text.replace('KEY', KEY)).message).toMatch(/^the model refused the request: .*bad \[redacted]/);
    expect(told(400, text.replace('KEY', spelled)).message).toBe('the model refused the request: [redacted]');
    const utf16 = saidRefusal(400, Buffer.from(text.replace('KEY', KEY), 'utf16le'), new UpstreamWords(KEY));
    expect(utf16.message).toBe('the model refused the request: [redacted]');
  });

  it('is bounded and printable, in any script', () => {
    const message = `Größe\u202e\n模型 ${'x'.repeat(5_000)}`;
    expect(told(400, { error: { message } }).message).toBe(`Größe? 模型 ${'x'.repeat(1_990)}`);
  });

  it.each([
    ['<html>no</html>', 'the model refused the request: <html>no</html>'],
    ['', 'the model refused the request'],
    ['{"error":"no"}', 'the model refused the request: {"error":"no"}'],
  ])('is quoted where it is no envelope: %s', (text, message) => {
    expect(told(400, text)).toEqual({ type: 'refusal', code: 'invalid_request', message });
  });

  it('is quoted where it is nested deeper than is read', () => {
    const deep = `{"error":{"message":"no"},"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`;
    expect(told(400, deep).message).toMatch(/^the model refused the request: /);
    const read = `{"error":{"message":"no"},"x":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect(told(400, read).message).toBe('no');
  });
});
