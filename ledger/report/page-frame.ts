import { Html, html } from './html.ts';
import { STYLE } from './style.ts';

/** A page of HTML that loads nothing and runs nothing. */
export const pageFrame = (title: string, body: readonly Html[]): string =>
  `<!doctype html>\n${
    html`<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<h1>${title}</h1>
${body}
</body>
</html>`.text
  }\n`;
