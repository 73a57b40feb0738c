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
  const encodeEach = (text: string) => text.replace(/./g, (one) => `%${inHex(one.charCodeAt(0))}`);
  const byNames = KEY.replaceAll('"', '&quot;').replace('-', '&hyphen;').replace('/', '&sol;').replace('+', '&plus;');
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
    ['HTML 5, by names', byNames],
    ['HTML 5 of a URL', each((code) => `&percnt;${inHex(code)}`)],
    ['HTML 5 of JSON, in a URL', encodeURIComponent(each((code) => `&bsol;u00${inHex(code)}`))],
    ['HTML of HTML, by numbers', each((code) => `&#38;#${code}`)],
    ['HTML 5 of HTML', each((code) => `&amp;&num;${code}&semi;`)],
    ['HTML 5 of HTML, by names', byNames.replaceAll('&', '&amp;').replaceAll(';', '&semi;')],
    ['HTML 5 of quoted-printable', each((code) => `&equals;${inHex(code)}`)],
    ['HTML 5 of a program', each((code) => `&bsol;u&lcub;${inHex(code)}&rcub;`)],
    ['HTML 5 of a program with x', each((code) => `&bsol;x&lbrace;${inHex(code)}&rbrace;`)],
    ['HTML, without ends', KEY.replaceAll('-', '&#45').replaceAll('"', '&#x022')],
    ['octal numbers', each((code) => `\\${code.toString(8)}`)],
    ['octal numbers in a URL', KEY.replace('-', '%5C55').replace('+', '%5c053')],
    ['CSS', each((code) => `\\${inHex(code)} `)],
    ['CSS of a URL', each((code) => `\\25 ${inHex(code)}`)],
    ['CSS of JSON', each((code) => `\\5c u00${inHex(code)}`)],
    ['CSS of CSS', each((code) => `\\5c ${inHex(code)} `)],
    ['CSS of a URL, with a line’s end for its blank, in JSON', each((code) => `\\25\\n${inHex(code)}`)],
    ['a program, in braces', each((code) => `\\u{${inHex(code)}}`)],
    ['a program, in braces with x', each((code) => `\\x{00${inHex(code)}}`)],
    ['a program, in eight digits', each((code) => `\\U${inHex(code).padStart(8, '0')}`)],
    ['quoted-printable', each((code) => `=${inHex(code).toUpperCase()}`)],
    ['quoted-printable, in part, and lines', KEY.replace('-', '=2D').replace('key', 'k=\r\ney')],
    ['quoted-printable of JSON', each((code) => `=5Cu00${inHex(code)}`)],
    ['an escape of which each character is one', each((code) => encodeEach(inJson(code)))],
    ['signs of others', KEY.replace('-', '&lowbar;').replace('/', '=ab').replace('+', '%FF')],
    ['HTML in HTML in JSON', each((code) => `\\u0026amp;#${code};`)],
    ['UTF-16', each((code) => `${asIs(code)}\0`)],
    ['characters with joiners between', each((code) => `${asIs(code)}\u200b`)],
    ['characters with spelled ones between', each((code) => `${asIs(code)}\\u200b&#8203;`)],
    ['lines', KEY.replace('key', 'k\r\ney')],
    ['lines in JSON', JSON.stringify(KEY.replace('key', 'k\ney'))],
    ['a URL in many', each((code) => `%${'25'.repeat(9)}${inHex(code)}`)],
    ['what can be read in too many ways', '\\046'.repeat(100)],
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

  it.each([
    ['sk_fj=0123456789ab5Fcd==', 'sk&lowbar;&fjlig;&equals;0123456789ab5Fcd&equals;&equals;'],
    ['sk=5Fdeadbeef=0123', 'sk=5Fdeadbeef&equals;0123'],
    ['sk=5Fdeadbeef=0123', 'sk=3D5Fdeadbeef=3d0123'],
    ['sk=5Fdeadbeef=0123', 'api_key=sk=5Fdeadbeef\\u003d0123'],
    ['12345678\\', '\\\\1234\\65678\\134'],
    ['--"+"a/_', '--\\"+\\"a\\/\\u005f'],
    ['--"+"a/_', '--&quot;+%22a\\/&lowbar;'],
    ['--"+"a/_', '-\u200b-"+"a/_'],
  ])('are not told where %s may be spelled in them, read in one of two ways: %s', (key, spelled) => {
    expect(new UpstreamWords(key).clean(`bad key ${spelled}.`, 200)).toBe('[redacted]');
  });

  it.each([
    'messages.1.content.0.text.text: Field required',
    'prompt is too long: 203452 tokens > 200000 maximum',
    'req_011CSHoEeqs5C35K2UUqR7Fy',
    'text/event-stream; charset=utf-8',
    'https://docs.example.com/en/api/errors?code=400&key=upstream%20key&v=0123456789#sk-upstream',
    '{"error":{"message":"Incorrect API key provided: sk-Up***6789.\\nSee &lt;a href=\\"https:\\/\\/x.example\\"&gt;"}}',
    'Expecting value: line 1 column 1 (char 0) in C:\\\\Users\\\\upstream\\key.json \\u00e9t\\u00e9, 100% of it',
    'Größe des Bildes: max. 8 000 Pixel; 模型 não encontrado: sk',
    '123e4567-e89b-12d3-a456-426614174000',
    '--%22',
  ])('are told where they are usual ones: %s', (said) => {
    for (const key of [KEY, 'sk-ant-api03-0123456789abcdef-AA', '--"+"a/_', 'ééééééé"'])
      expect(new UpstreamWords(key).sentence(said, 500)).toBe(said);
  });

  it('are looked through in a bounded time, whatever they are made of', () => {
    const units = [
      '\\',
      '%25',
      '%2525',
      '&amp;',
      '\\064',
      '\\41',
      '\\13425c',
      '\\046',
      '\\0461',
      '&a',
      '&#0',
      '\\u{0',
      '=3D3D',
      '\\134\\',
      '\\5c ',
      '\\5c 35',
    ];
    for (const unit of units) {
      const before = process.cpuUsage().user;
      words.sentence(unit.repeat(8_192 / unit.length), 8_192);
      expect((process.cpuUsage().user - before) / 1_000, unit).toBeLessThan(500);
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
