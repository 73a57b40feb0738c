import { type AnswerKind, MODELS } from './fast-upstream/answers.ts';

const SENTENCE = 'Please read the following paragraph with care, and tell in a few words what it asks of its reader. ';

/** A Messages request of about 1 KB, or 20 KB: a system prompt, some turns, a tool. */
export function requestBody(kind: AnswerKind, size: 'small' | 'large'): string {
  const turnBytes = size === 'small' ? 100 : 6_500;
  const turn = (role: string) => ({
    role,
    content: [{ type: 'text', text: SENTENCE.repeat(Math.ceil(turnBytes / SENTENCE.length)) }],
  });
  return JSON.stringify({
    model: MODELS[kind],
    max_tokens: 1024,
    stream: kind !== 'json',
    system: [{ type: 'text', text: 'You are a careful reader. Answer in one sentence.' }],
    messages: [turn('user'), turn('assistant'), turn('user'), { role: 'user', content: 'Begin.' }],
    tools: [
      {
        name: 'look_up',
        description: 'Looks up a word in the dictionary.',
        input_schema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
      },
    ],
    metadata: { user_id: 'bench' },
  });
}

/** A whole HTTP request. */
export function requestText(
  { port, headers }: { port: number; headers: Readonly<Record<string, string>> },
  body: string,
): string {
  const lines = Object.entries({
    host: `127.0.0.1:${port}`,
    'content-type': 'application/json',
    'anthropic-version': '2023-06-01',
    'user-agent': 'bench/1.0',
    accept: 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /v1/messages HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
