import { readFileSync } from 'node:fs';

interface TokenSample {
  readonly name: string;
  readonly o200k: number;
  readonly anthropic: number;
  readonly text: string;
}

/**
 * What real deltas carry: text in languages and scripts, code, JSON, mark-up, and how many tokens two public tokenizers
 * take each for: o200k (gpt-tokenizer 4.0.0) and the last one that Anthropic has published (@anthropic-ai/tokenizer
 * 0.0.4, of its models before 2024). `measure-tokens.ts` counts again; neither is a dependency of this project.
 */
export const TOKEN_SAMPLES = readFileSync(new URL('./token-samples.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line): TokenSample => JSON.parse(line));
