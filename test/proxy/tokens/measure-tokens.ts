/**
 * Counts the samples again, and shows what the weights make of them. The tokenizers are large, so they are brought for
 * the occasion: `npm install --no-save gpt-tokenizer@4.0.0 @anthropic-ai/tokenizer@0.0.4`, then
 * `node test/proxy/tokens/measure-tokens.ts`. It ends with 1 where a recorded count is not what a tokenizer counts.
 */
import { millitokensOf } from '../../../proxy/tokens/text-tokens.ts';
import { TOKEN_SAMPLES } from './token-samples.ts';

type Count = (text: string) => number;
const load = async (name: string): Promise<Record<string, Count>> => await import(name);
const { countTokens: countO200k } = await load('gpt-tokenizer/encoding/o200k_base');
const { countTokens: countAnthropic } = await load('@anthropic-ai/tokenizer');

let wrong = 0;
console.log('sample        bytes  o200k  anthropic  estimate  of o200k');
for (const { name, text, o200k, anthropic } of TOKEN_SAMPLES) {
  const counted = [countO200k?.(text), countAnthropic?.(text)];
  if (counted[0] !== o200k || counted[1] !== anthropic) {
    wrong++;
    console.log(`${name}: recorded as ${o200k} and ${anthropic}, counted as ${counted.join(' and ')}`);
  }
  const estimate = millitokensOf(text) / 1_000;
  const columns = [Buffer.byteLength(text), o200k, anthropic, estimate.toFixed(1), (estimate / o200k).toFixed(2)];
  const widths = [5, 7, 11, 10, 10];
  console.log(name.padEnd(13), ...columns.map((column, index) => String(column).padStart((widths[index] ?? 0) - 1)));
}
process.exitCode = wrong === 0 ? 0 : 1;
