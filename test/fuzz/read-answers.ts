export interface ReadAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
  /** False where the connection was closed before its end. */
  readonly isWhole: boolean;
}

/** The answers on a connection, one after another, without those that are only provisional; null where it is no HTTP. */
export function readAnswers(bytes: Buffer): ReadAnswer[] | null {
  const answers: ReadAnswer[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return null;
    const head = rest.toString('latin1', 0, headEnd);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (Number.isNaN(status)) return null;
    const { body, length, isWhole } = bodyOf(rest.subarray(headEnd + 4), head, status);
    if (status >= 200) answers.push({ status, head, body, isWhole });
    rest = rest.subarray(headEnd + 4 + length);
  }
  return answers;
}

interface ReadBody {
  readonly body: Buffer;
  /** Of its bytes on the connection. */
  readonly length: number;
  readonly isWhole: boolean;
}

function bodyOf(rest: Buffer, head: string, status: number): ReadBody {
  if (status < 200 || status === 204) return { body: Buffer.alloc(0), length: 0, isWhole: true };
  if (/\r\ntransfer-encoding: chunked/i.test(head)) return chunkedBody(rest);
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (length === undefined) return { body: rest, length: rest.length, isWhole: true };
  const body = rest.subarray(0, Number(length));
  return { body, length: body.length, isWhole: body.length === Number(length) };
}

function chunkedBody(rest: Buffer): ReadBody {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd === -1) return { body: Buffer.concat(chunks), length: rest.length, isWhole: false };
    const size = Number.parseInt(rest.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + 2;
    if (size === 0) return { body: Buffer.concat(chunks), length: start + 2, isWhole: true };
    chunks.push(rest.subarray(start, start + size));
    at = start + size + 2;
  }
}
