import { describe, expect, it } from 'vitest';
import { NO_SECRETS, UpstreamWords } from '../../../proxy/upstream/upstream-words.ts';

const KEY = 'sk-Upstream/"key"+0123456789';
const words = new UpstreamWords(KEY);

describe('the words of an upstream', () => {
  it('are without the credential, however it is spelled', () => {
    for (const said of [KEY, `Bearer ${KEY}`, KEY.toLowerCase(), `bearer ${KEY.toUpperCase()}`])
      expect(words.clean(`a ${said} b ${said}`, 100)).toBe('a [redacted] b [redacted]');
    const json = JSON.stringify({ message: `key Bearer ${KEY} é漢` });
    for (const text of [json, json.replaceAll('/', '\\/').replaceAll('\\"', '"')])
      expect(words.sentence(text, 100)).toBe('{"message":"key [redacted] é漢"}');
  });

  it('are bounded, and no cut leaves a part of the credential', () => {
    expect(words.clean('x'.repeat(1_000_000), 200)).toBe('x'.repeat(200));
    for (let charsMax = 1; charsMax < 60; charsMax++) {
      const said = words.clean(`1234567890${KEY}`, charsMax);
      expect(said).toBe('1234567890[redacted]'.slice(0, charsMax));
    }
  });

  it('are without a part of the credential wherever it is echoed, and as often as it is', () => {
    for (const echo of [KEY, `Bearer ${KEY}`])
      for (const charsMax of [1, 10, 64])
        for (let gap = 0; gap < charsMax + 2 * echo.length; gap++) {
          const between = '.'.repeat(gap);
          for (const echoes of [2, 3, charsMax]) {
            const said = words.clean(`${echo}${between}`.repeat(echoes), charsMax);
            expect(said).toBe(`[redacted]${between}`.repeat(echoes).slice(0, charsMax));
          }
        }
  });

  it('are as they come where the credential is as short as a word of its own', () => {
    for (const key of ['x', 'text', 'stream'])
      expect(new UpstreamWords(key).clean('text/event-stream', 50)).toBe('text/event-stream');
    expect(new UpstreamWords('sk-12345').clean('of sk-12345', 50)).toBe('of [redacted]');
  });

  it('are printable', () => {
    const hostile = 'a\u0000\u001b[2J\u007f\u009b\u202e\u2066\u200f\ufeff\ud800é\tb\r\nc';
    expect(NO_SECRETS.clean(hostile, 100)).toBe('a??[2J???????? b  c');
  });

  it('for callers keep their script', () => {
    expect(NO_SECRETS.sentence('Größe\n 模型 a\u001b[2J\u202eb\ud800', 100)).toBe('Größe 模型 a?[2J?b\ufffd');
    expect(NO_SECRETS.sentence('Bearer x', 100)).toBe('Bearer x');
    expect(words.sentence(`1234567890${KEY}`, 13)).toBe('1234567890[re');
  });
});
