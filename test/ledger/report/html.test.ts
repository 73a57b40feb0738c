import { expect, test } from 'vitest';
import { html } from '../../../ledger/report/html.ts';

const HOSTILE = `"><script>alert('x')</script>&amp;\u202e\u0000`;

test('what others have named is text in a page, also within an attribute, and nothing of it is hidden', () => {
  const { text } = html`<p title="${HOSTILE}">${HOSTILE}</p>`;
  expect(text).toBe(
    ['<p title="', '">', '</p>'].join(
      '&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;amp;\\u202e\\u0000',
    ),
  );
});

test('what is HTML already, and lists of it, stand in a page as they are; numbers as their digits', () => {
  expect(html`<ul>${[html`<li>${1}</li>`, html`<li>${'&'}</li>`]}</ul>`.text).toBe(
    '<ul><li>1</li>\n<li>&#38;</li></ul>',
  );
});
