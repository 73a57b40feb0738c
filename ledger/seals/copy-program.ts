// What writes seals to where `seals.copyTo` says, in a process of its own (`copy-process.ts`). Tells the end of the file as a line
// of JSON, then adds what it is given, and ends once that is on disk. Arguments: file or folder, name in a folder, bytes of the end.
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

async function copy([to = '', nameInFolder = '', tailBytes = '']: readonly string[]): Promise<void> {
  const isFolder = await stat(to).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  const file = await open(isFolder ? join(to, nameInFolder) : to, 'a+');
  const { size } = await file.stat();
  const length = Math.min(size, Number(tailBytes));
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  process.stdout.write(`${JSON.stringify(buffer.toString('utf8', 0, bytesRead))}\n`);
  const lines = await text(process.stdin);
  if (lines !== '') {
    await file.appendFile(lines);
    await file.datasync();
  }
  await file.close();
}

try {
  await copy(process.argv.slice(2));
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
