/** To whoever runs the benchmark. */
export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
