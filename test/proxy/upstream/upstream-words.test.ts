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

  const each = (spell: (code: number) => string) => KEY.replace(/./gs, (character) => spell(character.charCodeAt(0)));
  const inHex = (code: number) => code.toString(16);
  const inJson = (code: number) => `\\u${inHex(code).padStart(4, '0')}`;
  const asIs = String.fromCharCode;
  it.each([
    ['JSON', each(inJson)],
    ['JSON in JSON', JSON.stringify(JSON.stringify(each(inJson)))],
    ['JSON, in part', `${KEY.slice(0, -1)}\\u0039`],
    ['a program', each((code) => `\\x${inHex(code).toUpperCase()}`)],
    ['a URL', encodeURIComponent(KEY)],
    ['a URL in a URL', encodeURIComponent(encodeURIComponent(KEY))],
    ['a URL of old', each((code) => `%u00${inHex(code)}`)],
    ['HTML', each((code) => `&#${code};`)],
    ['HTML, in hexadecimal', each((code) => `&#X${inHex(code).padStart(6, '0')};`)],
    ['HTML, by names', KEY.replaceAll('"', '&quot;')],
    ['HTML in HTML in JSON', each((code) => `\\u0026amp;#${code};`)],
    ['UTF-16', each((code) => `${asIs(code)}\0`)],
    ['characters with joiners between', each((code) => `${asIs(code)}\u200b`)],
    ['characters with spelled ones between', each((code) => `${asIs(code)}\\u200b&#8203;`)],
    ['lines', KEY.replace('key', 'k\r\ney')],
    ['lines in JSON', JSON.stringify(KEY.replace('key', 'k\ney'))],
    ['more depths than are undone', `%${'25'.repeat(20)}3D`],
  ])('are not told where they spell the credential as %s does', (_, spelled) => {
    for (const said of [spelled, `key: ${spelled}.`, `${KEY} ${spelled}`, `${'x'.repeat(90)}${spelled}`]) {
      expect(words.clean(said, 100)).toBe('[redacted]');
      expect(words.sentence(said, 100)).toBe('[redacted]');
    }
  });

  it('are told where they have escapes and not the credential', () => {
    for (const said of [
      '{"a":"C:\\\\users\\n\\u003d"}',
      '100% of &lt;max_tokens&gt; %3D %zz &#; \\',
      each(inJson).slice(6),
    ]) {
      expect(words.clean(said, 500)).toBe(said);
      expect(words.sentence(said, 500)).toBe(said);
    }
    expect(NO_SECRETS.sentence(each(inJson), 500)).toBe(each(inJson));
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
